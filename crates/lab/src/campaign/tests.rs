use super::*;
use crate::report::{Settings, StepReport};

fn campaign() -> Campaign {
    Campaign {
        workload: "ibench".into(),
        engines: vec!["onlap".into()],
        rows: vec![1000, 2000],
        clients: vec![1],
        io_limits: vec![None],
        cgroup_memory: None,
        memory: 64 << 20,
        repeat: 2,
        dir: None,
        url: None,
        device_stats: false,
        command: "onlap bench ibench".into(),
    }
}

/// Answers with a plausible run, fails at some, and counts.
struct Fake<'a> {
    ran: Vec<(u64, usize)>,
    saved: usize,
    fails: &'a dyn Fn(&Job) -> Option<Error>,
}

impl Runner for Fake<'_> {
    fn run(&mut self, job: &Job, _: Option<&Path>) -> Result<RunReport> {
        self.ran.push((job.rows, job.repetition));
        if let Some(error) = (self.fails)(job) {
            return Err(error);
        }
        let step =
            StepReport { step: "l.i1".into(), ips: Some(job.rows as f64), ..Default::default() };
        Ok(RunReport {
            engine: job.engine.clone(),
            settings: Settings { rows: job.rows, clients: job.clients, ..Default::default() },
            steps: vec![step],
            ..Default::default()
        })
    }
    fn save(&mut self, _: &Comparison) -> Result<()> {
        self.saved += 1;
        Ok(())
    }
    fn say(&mut self, _: &str) {}
}

#[test]
fn a_campaign_goes_on_where_it_was_interrupted() {
    let cancel = AtomicBool::new(false);
    let interrupted =
        |job: &Job| (job.rows == 2000).then(|| Error::new(ErrorKind::Cancelled, "interrupted"));
    let mut first = Fake { ran: Vec::new(), saved: 0, fails: &interrupted };
    let partial = campaign().run(None, &cancel, &mut first).unwrap();
    assert!(partial.interrupted);
    assert_eq!(partial.runs.len(), 2);
    assert_eq!(first.saved, 3);
    let read = Comparison::from_json(&partial.to_json()).unwrap();
    let mut second = Fake { ran: Vec::new(), saved: 0, fails: &|_| None };
    let whole = campaign().run(Some(read), &cancel, &mut second).unwrap();
    assert_eq!(second.ran, [(2000, 0), (2000, 1)]);
    assert!(!whole.interrupted && whole.runs.len() == 4);
    let entries = whole.entries().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1].case, "2,000 rows");
}

#[test]
fn an_engine_that_dies_leaves_the_others() {
    let cancel = AtomicBool::new(false);
    let dies = |job: &Job| {
        (job.repetition == 0 && job.rows == 1000).then(|| Error::new(ErrorKind::Io, "it died"))
    };
    let mut fake = Fake { ran: Vec::new(), saved: 0, fails: &dies };
    let done = campaign().run(None, &cancel, &mut fake).unwrap();
    assert_eq!(done.runs.len(), 4);
    let entries = done.entries().unwrap();
    assert_eq!((entries[0].failed.len(), entries[0].runs.len()), (1, 1));
    assert_eq!(entries[0].steps[0].ips, Some(1000.0));
}

#[test]
fn rows_are_counted_or_follow_from_memory() {
    let rows = parse_rows("1M,3x,0.5x", "ibench", 230 << 20).unwrap();
    assert_eq!(rows, [1_000_000, 3 << 20, 1 << 19]);
    assert!(parse_rows("threex", "ibench", 1).is_err());
}

#[test]
fn what_cannot_be_done_is_refused() {
    let refused = |change: &dyn Fn(&mut Campaign), hint: &str| {
        let mut campaign = campaign();
        change(&mut campaign);
        let error = campaign.check().unwrap_err();
        assert!(error.message().contains(hint), "{error}");
    };
    campaign().check().unwrap();
    refused(&|c| c.engines = vec!["onlab".into()], "did you mean 'onlap'");
    refused(&|c| c.engines.push("onlap".into()), "twice");
    refused(&|c| c.memory = u64::MAX >> 1, "the machine has");
    refused(&|c| (c.memory, c.cgroup_memory) = (1 << 28, Some(1 << 27)), "above --cgroup-memory");
    refused(&|c| c.url = Some("postgres://x".into()), "come together");
}

#[test]
fn what_does_not_fit_is_said_before() {
    for engines in [vec!["onlap".to_owned()], vec!["onlap".to_owned(), "onlap-wire".to_owned()]] {
        let mut large = Campaign { engines, rows: vec![1000], ..campaign() };
        // Where the servers are not built in, there is nothing to check.
        if large.engines.iter().any(|e| drivers::check(e).is_err()) {
            continue;
        }
        large.check().unwrap();
        for rows in [1 << 45, u64::MAX] {
            large.rows = vec![rows];
            let text = large.check().unwrap_err().to_string();
            assert!(text.contains("may be needed"), "{text}");
        }
    }
    let poor = Campaign { memory: 1 << 20, ..campaign() };
    assert!(poor.check().unwrap_err().to_string().contains("too little"));
    let greedy = Campaign { cgroup_memory: Some(1 << 50), ..campaign() };
    assert!(greedy.check().unwrap_err().to_string().contains("the machine has"));
}
