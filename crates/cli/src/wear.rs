//! `onlap wear`: how worn is a drive, and how long will it last at the rate of a benchmark?

use std::io::Read;
use std::path::PathBuf;

use onlap_base::{Error, ErrorKind, Result};
use onlap_lab::report::Comparison;
use onlap_lab::{units, wear};

use onlap_process::exit::Outcome;

/// Flags of `onlap wear`
#[derive(clap::Args)]
pub struct Args {
    /// What `nvme smart-log` or `smartctl --all` printed, as text or JSON; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Bytes per second that are written; units k, M, G
    #[arg(long, value_name = "B/s", conflicts_with = "from")]
    write_rate: Option<String>,
    /// A report of `onlap bench`, whose engines' rates are taken
    #[arg(long, value_name = "RESULT.json")]
    from: Option<PathBuf>,
    /// Bytes of the drive, where what was printed does not tell; units k, M, G
    #[arg(long, value_name = "SIZE")]
    capacity: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `onlap wear`.
pub fn run(args: &Args) -> Result<Outcome> {
    let capacity = args.capacity.as_deref().map(units::parse_size).transpose()?;
    let rates = match (&args.write_rate, &args.from) {
        (Some(rate), _) => {
            let rate = rate.trim_end_matches("/s");
            vec![(format!("{rate}/s"), units::parse_size(rate)? as f64)]
        }
        (None, Some(path)) => wear::rates(&Comparison::from_json(&text_of(path)?)?)?,
        (None, None) => Vec::new(),
    };
    let mut drives = Vec::new();
    for file in &args.files {
        let name = file.display().to_string();
        let drive = wear::read(&text_of(file)?, capacity)
            .map_err(|e| Error::new(e.kind(), format!("{name}: {}", e.message())))?;
        let lives: Vec<_> = rates.iter().map(|(of, rate)| drive.life(of, *rate)).collect();
        if args.json {
            drives.push(serde_json::json!({ "drive": name, "wear": drive, "life": lives }));
        } else {
            print!("{}", drive.text(&name, &lives));
        }
    }
    if args.json {
        println!("{:#}", serde_json::Value::Array(drives));
    }
    Ok(Outcome::Good)
}

fn text_of(path: &PathBuf) -> Result<String> {
    let mut text = String::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().read_to_string(&mut text).map(drop),
        _ => std::fs::read_to_string(path).map(|read| text = read),
    };
    let failed =
        |e| Error::new(ErrorKind::NotFound, format!("cannot read {}: {e}", path.display()));
    read.map_err(failed).map(|()| text)
}
