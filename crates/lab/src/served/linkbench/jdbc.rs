//! The same requests over JDBC: what an application in Java gets.
//!
//! The requests are drawn here and written to files, so that the program in Java does nothing but send
//! them; it writes down how long each took. It needs `java` 17 and PostgreSQL's driver.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;
use onlap_base::{Error, ErrorKind, Result};

use super::Stage;
use super::clients::{Act, Tally};
use super::operations::{Mix, Request, operations};
use super::shape::Graph;

/// The program.
const PROGRAM: &str = include_str!("Linkbench.java");
/// Where Debian's package has the driver; the environment variable [`JAR`] names another.
const DRIVER: &str = "/usr/share/java/postgresql.jar";
const JAR: &str = "ONLAP_JDBC_JAR";
/// Requests that are drawn for each client and second, about what one could do at most.
const PER_SECOND: f64 = 8000.0;
/// Most of them: 2 million are half a gigabyte in Java.
const REQUESTS_MAX: usize = 500_000;
/// Java compiles what runs often; what it does before that is not measured.
const WARM_SECONDS: f64 = 10.0;
/// Bytes of a measured request.
const TIME_BYTES: usize = 17;

/// Runs the mix with the plan's clients.
pub(super) fn run(stage: &Stage<'_>, graph: &Graph, mix: Mix, seed: u64) -> Result<Tally> {
    let driver = std::env::var_os(JAR).map_or_else(|| PathBuf::from(DRIVER), PathBuf::from);
    if !driver.is_file() {
        let text = format!(
            "there is no {}: install libpostgresql-jdbc-java, or name PostgreSQL's JDBC driver in {JAR}",
            driver.display()
        );
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    let url = stage.server.jdbc()?;
    let dir = stage.dir.join("jdbc");
    let clients = stage.plan.clients;
    write_requests(stage, graph, mix, seed, &dir)?;
    let mut command = Command::new("java");
    command.arg("-Xmx2g").arg("-cp").arg(driver).arg(dir.join("Linkbench.java")).arg(url).arg(&dir);
    for number in [clients as f64, WARM_SECONDS, stage.plan.seconds] {
        command.arg(number.to_string());
    }
    play(stage, &mut command)?;
    let tally = tally(&dir, clients)?;
    fs::remove_dir_all(&dir).map_err(io)?;
    Ok(tally)
}

fn write_requests(stage: &Stage<'_>, graph: &Graph, mix: Mix, seed: u64, dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(io)?;
    fs::write(dir.join("Linkbench.java"), PROGRAM).map_err(io)?;
    let names = operations().map(|operation| operation.name()).join("\n");
    fs::write(dir.join("operations"), names).map_err(io)?;
    let seconds = stage.plan.seconds + WARM_SECONDS;
    let requests = ((seconds * PER_SECOND) as usize).clamp(1, REQUESTS_MAX);
    for client in 0..stage.plan.clients {
        stage.check()?;
        let mut rng = Rng::new(seed ^ ((client as u64 + 1) << 40));
        let mut text = String::new();
        for _ in 0..requests {
            write_line(&Request::draw(graph, mix, &mut rng), &mut text);
        }
        fs::write(dir.join(format!("{client}.requests")), text).map_err(io)?;
    }
    Ok(())
}

/// An operation and its values, separated by tabs.
fn write_line(request: &Request, out: &mut String) {
    let name = request.operation().name();
    let line = match request {
        Request::PutLink { link, data, .. } => {
            format!("{name}\t{}\t{}\t{}\t{data}", link.id1, link.kind, link.id2)
        }
        Request::DeleteLink(link) => format!("{name}\t{}\t{}\t{}", link.id1, link.kind, link.id2),
        Request::CountLink { id, kind } => format!("{name}\t{id}\t{kind}"),
        Request::GetLinks { id1, kind, ends } => {
            let ends: Vec<String> = ends.iter().map(u64::to_string).collect();
            format!("{name}\t{id1}\t{kind}\t{}", ends.join(" "))
        }
        Request::List { id1, kind, ago } => format!("{name}\t{id1}\t{kind}\t{ago}"),
        Request::GetNode { id } | Request::DeleteNode { id } => format!("{name}\t{id}"),
        Request::AddNode { data } => format!("{name}\t{data}"),
        Request::UpdateNode { id, data } => format!("{name}\t{id}\t{data}"),
    };
    writeln!(out, "{line}").expect("a String takes all");
}

/// Runs the program to its end, or ends it where the run is cancelled.
fn play(stage: &Stage<'_>, command: &mut Command) -> Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let missing = |e| Error::new(ErrorKind::NotFound, format!("java: {e}; install Java 17"));
    let mut child = command.spawn().map_err(missing)?;
    let said = BufReader::new(child.stderr.take().expect("it is a pipe"));
    let reader =
        std::thread::spawn(move || said.lines().map_while(|line| line.ok()).take(20).collect());
    let status = loop {
        if let Err(e) = stage.check() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(e);
        }
        match child.try_wait().map_err(io)? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let lines: Vec<String> = reader.join().expect("it reads lines");
    match status.success() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Io, format!("java: {status}\n{}", lines.join("\n")))),
    }
}

/// What the program wrote down.
fn tally(dir: &Path, clients: usize) -> Result<Tally> {
    let start = Instant::now();
    let mut all = Tally::since(start)?;
    for client in 0..clients {
        let file = fs::File::open(dir.join(format!("{client}.times"))).map_err(io)?;
        let mut file = BufReader::new(file);
        let mut time = [0; TIME_BYTES];
        while file.read_exact(&mut time).is_ok() {
            let ns = |from: usize| {
                let bytes = time[from..from + 8].try_into().expect("eight bytes");
                Duration::from_nanos(u64::from_be_bytes(bytes))
            };
            let known = operations().get(usize::from(time[0])).copied();
            let operation = known.ok_or_else(|| {
                Error::new(ErrorKind::Corruption, "a time of an operation that there is not")
            })?;
            let began = start + ns(1);
            all.record_at(Act::of(operation.name()), began, began + ns(9))?;
        }
    }
    Ok(all)
}

fn io(e: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::RunDir;

    #[test]
    fn requests_are_lines() {
        let graph = Graph::new(1000);
        let mut rng = Rng::new(7);
        let mut text = String::new();
        (0..1000).for_each(|_| write_line(&Request::draw(&graph, Mix::Y2013, &mut rng), &mut text));
        assert_eq!(text.lines().count(), 1000);
        for line in text.lines() {
            let name = line.split('\t').next().unwrap_or_default();
            let values = line.split('\t').count() - 1;
            let expected = match name {
                "addlink" | "updatelink" => 4,
                "deletelink" | "getlink" | "getlinklist" => 3,
                "countlink" | "updatenode" => 2,
                _ => 1,
            };
            assert_eq!(values, expected, "{line}");
            assert!(operations().iter().any(|operation| operation.name() == name), "{line}");
        }
    }

    #[test]
    fn times_are_read() {
        let dir = RunDir::create(None, "jdbc").unwrap();
        let mut bytes = vec![1];
        bytes.extend(1_000_000_u64.to_be_bytes());
        bytes.extend(250_000_u64.to_be_bytes());
        fs::write(dir.path().join("0.times"), &bytes).unwrap();
        let mut report = crate::report::StepReport::default();
        tally(dir.path(), 1).unwrap().report(&mut report);
        assert_eq!(report.queries, Some(1));
        assert!((report.operations["deletelink"].p50_us - 250.0).abs() < 1.0);
        fs::write(dir.path().join("0.times"), [99; TIME_BYTES]).unwrap();
        assert!(tally(dir.path(), 1).is_err());
    }
}
