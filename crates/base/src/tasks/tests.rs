use std::time::Instant;

use super::*;
use crate::clock::Clock;
use crate::rng::Rng;

fn both(test: impl Fn(Arc<dyn Tasks>)) {
    test(Arc::new(ThreadTasks::new()));
    for seed in 0..20 {
        test(Arc::new(SimTasks::new(seed)));
    }
}

#[test]
fn a_join_brings_the_outcome() {
    both(|tasks| {
        let good = tasks.spawn("good", Box::new(|| ()));
        let bad = tasks.spawn("bad", Box::new(|| panic!("number {}", 7)));
        assert_eq!(bad.join(), Err("number 7".to_owned()));
        assert_eq!(good.join(), Ok(()));
    });
}

#[test]
fn a_wait_ends_at_once_when_the_epoch_moved_before() {
    both(|tasks| {
        let event = tasks.event();
        let seen = event.epoch();
        event.notify();
        assert!(event.wait(seen, None));
        assert!(!event.wait(event.epoch(), Some(Duration::from_millis(2))));
    });
}

/// Two tasks hand a counter to each other many times; one lost wake-up would hang them.
#[test]
fn no_wake_up_is_lost() {
    const TURNS: u64 = 2_000;
    both(|tasks| {
        let ball = Arc::new(AtomicU64::new(0));
        let event = tasks.event();
        let players: Vec<TaskHandle> = (0..2)
            .map(|side| {
                let (ball, event) = (Arc::clone(&ball), Arc::clone(&event));
                let play = move || {
                    for turn in (side..TURNS).step_by(2) {
                        event.wait_for(|| (ball.load(Ordering::SeqCst) == turn).then_some(()));
                        ball.store(turn + 1, Ordering::SeqCst);
                        event.notify();
                    }
                };
                tasks.spawn("player", Box::new(play))
            })
            .collect();
        for player in players {
            assert_eq!(player.join(), Ok(()));
        }
        assert_eq!(ball.load(Ordering::SeqCst), TURNS);
    });
}

/// Many waiters, one notifier, and a notify that wakes all of them.
#[test]
fn a_notify_wakes_every_waiter() {
    both(|tasks| {
        let event = tasks.event();
        let open = Arc::new(AtomicBool::new(false));
        let waiters: Vec<TaskHandle> = (0..8)
            .map(|_| {
                let (open, event) = (Arc::clone(&open), Arc::clone(&event));
                let wait = move || event.wait_for(|| open.load(Ordering::SeqCst).then_some(()));
                tasks.spawn("waiter", Box::new(wait))
            })
            .collect();
        tasks.sleep(Duration::from_millis(1));
        open.store(true, Ordering::SeqCst);
        event.notify();
        for waiter in waiters {
            assert_eq!(waiter.join(), Ok(()));
        }
    });
}

/// What a few tasks that draw lots, yield, sleep and signal wrote down, in order.
fn trace_of(seed: u64) -> (Vec<String>, u64, u64) {
    let tasks = SimTasks::new(seed);
    let trace = Arc::new(Mutex::new(Vec::new()));
    let event = tasks.event();
    let handles: Vec<TaskHandle> = (0..4)
        .map(|n| {
            let (sim, trace, event) = (tasks.clone(), Arc::clone(&trace), Arc::clone(&event));
            let body = move || {
                let mut rng = Rng::new(n);
                for step in 0..25 {
                    let seen = event.epoch();
                    let line = format!("{n}.{step} at {}", sim.monotonic_ns());
                    lock(&trace).push(line);
                    match rng.below(4) {
                        0 => sim.yield_now(),
                        1 => sim.sleep(Duration::from_micros(rng.below(50))),
                        2 => event.notify(),
                        _ => {
                            event.wait(seen, Some(Duration::from_micros(30)));
                        }
                    }
                }
            };
            tasks.spawn(&format!("task {n}"), Box::new(body))
        })
        .collect();
    for handle in handles {
        assert_eq!(handle.join(), Ok(()));
    }
    let lines = lock(&trace).clone();
    (lines, tasks.steps(), tasks.monotonic_ns())
}

#[test]
fn the_interleaving_follows_from_the_seed() {
    let traces: Vec<_> = (0..6).map(trace_of).collect();
    for (seed, trace) in traces.iter().enumerate() {
        assert_eq!(*trace, trace_of(seed as u64), "seed {seed}");
    }
    assert!(traces.windows(2).all(|pair| pair[0].0 != pair[1].0), "seeds make a difference");
}

#[test]
fn virtual_time_jumps_over_sleep() {
    let started = Instant::now();
    let tasks = SimTasks::new(1);
    let sleeper = {
        let sim = tasks.clone();
        tasks.spawn("sleeper", Box::new(move || sim.sleep(Duration::from_secs(86_400))))
    };
    assert_eq!(sleeper.join(), Ok(()));
    assert!(tasks.monotonic_ns() >= 86_400_000_000_000);
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(tasks.unix_us() - 1_577_836_800_000_000, (tasks.monotonic_ns() / 1000) as i64);
}

#[test]
fn a_polling_task_sees_time_pass() {
    let tasks = SimTasks::new(4);
    let until = tasks.monotonic_ns() + 1_000_000;
    while tasks.monotonic_ns() < until {
        tasks.yield_now();
    }
}

#[test]
fn a_deadlock_panics_instead_of_hanging() {
    for seed in 0..5 {
        let tasks = SimTasks::new(seed);
        let never = tasks.event();
        let stuck = {
            let never = Arc::clone(&never);
            tasks.spawn("stuck", Box::new(move || assert!(never.wait(0, None))))
        };
        let end = catch_unwind(AssertUnwindSafe(|| never.wait(0, None))).expect_err("a panic");
        let message = message_of(&*end);
        assert!(message.contains("main for event") && message.contains("stuck"), "{message}");
        drop(stuck);
    }
}

#[test]
fn threads_time_out_and_wake() {
    let tasks = ThreadTasks::new();
    let event = tasks.event();
    let started = Instant::now();
    assert!(!event.wait(0, Some(Duration::from_millis(5))));
    assert!(started.elapsed() >= Duration::from_millis(5));
    let notifier = {
        let event = Arc::clone(&event);
        tasks.spawn("notifier", Box::new(move || event.notify()))
    };
    assert!(event.wait(0, Some(Duration::from_secs(60))));
    assert_eq!(notifier.join(), Ok(()));
}
