use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use onlap_vfs::Access;

use super::*;

const NAME: &str = "/d/log";

/// A log of one-byte records, with or without the sync that makes it right.
fn append(fs: &Arc<dyn Fs>, ledger: &Ledger<u8>, synced: bool) -> Result<()> {
    fs.create_dir_all(Path::new("/d"))?;
    let file = fs.create(Path::new(NAME), Access::ReadWrite)?;
    fs.sync_dir(Path::new("/d"))?;
    for record in 1..=20u8 {
        ledger.ask(record);
        file.write_at(&[record], u64::from(record) - 1)?;
        if synced {
            file.sync_data()?;
        }
        ledger.promise();
    }
    Ok(())
}

/// What was left must be a prefix of what was asked for and cover what was promised.
fn is_prefix(fs: Arc<dyn Fs>, asked: &[u8], promised: usize) -> std::result::Result<(), String> {
    let bytes = match fs.open(Path::new(NAME), Access::Read) {
        Ok(file) => {
            let len = file.len().map_err(|e| e.to_string())?;
            file.read_at(0, len as usize).map_err(|e| e.to_string())?.into_vec()
        }
        Err(_) => Vec::new(),
    };
    let whole: Vec<u8> = bytes.into_iter().take_while(|&byte| byte != 0).collect();
    if whole.len() < promised || !asked.starts_with(&whole) {
        return Err(format!("{promised} of {asked:?} promised, {whole:?} found"));
    }
    Ok(())
}

const PLAN: Plan = Plan { seed: 1, cuts: 1000, keep_share: 0.5 };

#[test]
fn a_log_that_syncs_survives_every_cut() {
    for seed in 0..5 {
        let plan = Plan { seed, ..PLAN };
        at_every_operation(plan, |fs, ledger| append(&fs, ledger, true), is_prefix);
    }
}

#[test]
fn a_log_that_forgets_to_sync_is_caught() {
    let run = || at_every_operation(PLAN, |fs, ledger| append(&fs, ledger, false), is_prefix);
    let caught = catch_unwind(AssertUnwindSafe(run)).expect_err("a lost promise is found");
    let message = caught.downcast_ref::<String>().expect("the finding is text");
    assert!(message.contains("seed 1, power gone at operation"), "{message}");
}

#[test]
fn fewer_cuts_are_a_choice_of_the_seed() {
    let choose = |seed| chosen(100, 10, &mut Rng::new(seed));
    assert_eq!(choose(1), choose(1));
    assert_ne!(choose(1), choose(2));
    assert_eq!(choose(3).len(), 10);
    assert_eq!(chosen(5, 10, &mut Rng::new(1)), [0, 1, 2, 3, 4]);
}
