//! Which numbers does random() give after setseed()?
//!
//! Those of PostgreSQL 15: xoroshiro128**, begun by splitmix64 (D. Blackman and S. Vigna, "Scrambled Linear Pseudorandom Number
//! Generators"), with the seed's 52 bits. Tests that set a seed find their rows again. Thread safety: a value.

/// A generator of numbers of 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    state: [u64; 2],
}

impl Chance {
    /// One that a seed from -1 to 1 begins.
    pub fn of_seed(seed: f64) -> Chance {
        let mut seed = (((1_i64 << 52) - 1) as f64 * seed) as i64 as u64;
        let mut next = || {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        Chance { state: [next(), next()] }
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        let [first, second] = self.state;
        let mixed = first ^ second;
        self.state = [first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }
}
