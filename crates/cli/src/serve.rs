//! `onlap serve`: a database for PostgreSQL clients.
//!
//! Wiring: settings, the database, the server, and what is said at the start. SIGTERM or Ctrl-C ends it
//! in order, with exit code 0; a second one ends it at once.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use onlap::{Database, ErrorKind, Options, Result, SyncMode};
use onlap_base::Error;
use onlap_lab::units;
use onlap_server::{Config, Level, Log, Server, TlsFiles};
use onlap_sql::scram::{Verifier, stored_form};
use onlap_sql::settings::{Configuration, Id, Value};
use onlap_sql::{Instance, Secret};

use crate::config::{Flags, wrong};
use crate::version;
use onlap_process::exit::Outcome;
use onlap_process::{code, files, interrupt};

/// Between two looks whether the user wants us to stop.
const LOOK: Duration = Duration::from_millis(50);
/// The role that exists from the first start.
const SUPERUSER: &str = "postgres";

/// Flags of `onlap serve`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
}

/// Runs `onlap serve`.
pub fn run(args: &Args) -> Result<Outcome> {
    files::raise_limit();
    let mut settings = args.flags.configuration()?;
    let config = server_config(&settings)?;
    let level = Level::parse(settings.text(Id::LogLevel)).unwrap_or(Level::Info);
    let log = Log::stderr(level);
    // Where a panic was, and no backtrace: the tables that one is printed from take more memory than a small server
    // has, and are kept.
    let told = log.clone();
    std::panic::set_hook(Box::new(move |panic| told.error(format_args!("{panic}"))));
    let db = match Database::open(settings.text(Id::DataDir), options(&settings)?) {
        Ok(db) => db,
        Err(error) => return Ok(Outcome::NotOpened(error)),
    };
    settings.put(Id::Ssl, Value::Flag(config.tls.is_some()));
    let port = config.listen.first().and_then(|a| a.rsplit(':').next()?.parse().ok());
    settings.put(Id::Port, Value::Int(port.unwrap_or(0)));
    put_known(&mut settings, &db);
    let instance = Instance::open_with(db, settings.defaults()).map_err(wrong)?;
    if let Some(file) = settings.given(Id::PasswordFile) {
        set_password(&instance, file)?;
    }
    let server = Server::start(Arc::clone(&instance), config, log.clone()).map_err(wrong)?;
    log.info(format_args!("onlap {} serves {}", version::SHORT, settings.text(Id::DataDir)));
    print(&settings, &instance, &server);
    code::give_back();
    while !interrupt::requested() {
        std::thread::sleep(LOOK);
    }
    match server.stop() {
        Ok(()) => Ok(Outcome::Good),
        Err(e) => Err(Error::new(ErrorKind::Io, e.to_string())),
    }
}

/// What settings for monitors say.
fn put_known(settings: &mut Configuration, db: &Database) {
    // A directory that is open has a whole path; without one monitors are told none.
    let path = std::path::absolute(settings.text(Id::DataDir)).unwrap_or_default();
    settings.put(Id::DataDirectory, Value::Text(path.to_string_lossy().into_owned()));
    let memory: u64 = db.memory().iter().map(|part| part.limit).sum();
    settings.put(Id::SharedBuffers, Value::Int((memory >> 13) as i64));
    let jobs = settings.int(Id::BackgroundJobs);
    settings.put(Id::AutovacuumMaxWorkers, Value::Int(jobs));
    settings.put(Id::MaxWorkerProcesses, Value::Int(jobs));
}

/// Settings of the database.
pub fn options(settings: &Configuration) -> Result<Options> {
    let memory = settings.int(Id::MemoryLimit) as u64;
    Ok(Options {
        memory_limit: (memory > 0).then_some(memory),
        sync: SyncMode::from_str(settings.text(Id::Sync))?,
        background_jobs: settings.int(Id::BackgroundJobs) as usize,
        ..Options::default()
    })
}

/// Settings of the server.
fn server_config(settings: &Configuration) -> Result<Config> {
    let tls = match (settings.given(Id::TlsCert), settings.given(Id::TlsKey)) {
        (Some(certificate), Some(key)) => {
            Some(TlsFiles { certificate: PathBuf::from(certificate), key: PathBuf::from(key) })
        }
        (None, None) => None,
        _ => {
            let text = "tls_cert and tls_key belong together";
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
    };
    let listen = settings.text(Id::Listen).split(',').map(str::trim).filter(|a| !a.is_empty());
    let time = |id| settings.time(id).unwrap_or_default();
    Ok(Config {
        listen: listen.map(with_port).collect(),
        http: settings.given(Id::Http).map(str::to_string),
        tls,
        insecure: settings.flag(Id::Insecure),
        max_connections: settings.int(Id::MaxConnections) as usize,
        reserved_connections: settings.int(Id::ReservedConnections) as usize,
        authentication_timeout: time(Id::AuthenticationTimeout),
        unauthenticated: settings.int(Id::MaxUnauthenticated) as usize,
        unauthenticated_each: settings.int(Id::MaxUnauthenticatedEach) as usize,
        login_delay: time(Id::FailedLoginDelay),
        log_min_duration: settings.time(Id::LogMinDurationStatement),
        shutdown_timeout: time(Id::ShutdownTimeout),
        message_bytes: settings.int(Id::MaxMessageSize) as usize,
        ..Config::default()
    })
}

/// The usual port where an address names none.
fn with_port(address: &str) -> String {
    let named = address.rsplit_once(':').is_some_and(|(host, port)| {
        // An IPv6 address is full of colons unless it stands in brackets.
        port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
    });
    match named {
        true => address.to_string(),
        false if address.contains(':') && !address.starts_with('[') => format!("[{address}]:5652"),
        false => format!("{address}:5652"),
    }
}

/// Makes the first line of a file the superuser's password, unless it is already.
fn set_password(instance: &Instance, file: &str) -> Result<()> {
    let bad = |why: &str| Error::new(ErrorKind::InvalidInput, format!("{file}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|e| bad(&e.to_string()))?;
    let password = text.lines().next().unwrap_or_default();
    if password.is_empty() {
        return Err(bad("its first line is to be the password, and is empty"));
    }
    if let Secret::Verifier(known) = instance.secret(SUPERUSER)
        && let Some(known) = Verifier::parse(&known)
        && Verifier::with_salt(password, &known.salt, known.iterations) == known
    {
        return Ok(());
    }
    instance.set_password(SUPERUSER, &stored_form(password)).map_err(wrong)
}

/// Where the console is, or what it needs.
fn console(http: std::net::SocketAddr, instance: &Instance, settings: &Configuration) -> String {
    if http.ip().is_loopback() || settings.flag(Id::Insecure) {
        return format!("http://{http}/");
    }
    match (instance.has_passwords(), settings.given(Id::TlsCert)) {
        (false, _) => "off: other machines reach it, and no role has a password".to_string(),
        (true, None) => {
            format!("http://127.0.0.1:{}/, for this machine alone: no TLS", http.port())
        }
        (true, Some(_)) => format!("https://{http}/"),
    }
}

fn print(settings: &Configuration, instance: &Instance, server: &Server) {
    let parts: Vec<_> = instance.database().memory();
    let total = parts.iter().map(|p| p.limit).sum();
    let each: Vec<String> =
        parts.iter().map(|p| format!("{} {}", p.part.name(), units::size(p.limit))).collect();
    let addresses: Vec<String> = server.addresses().iter().map(|a| a.to_string()).collect();
    println!("onlap {}, for clients of PostgreSQL {}", version::SHORT, onlap_sql::SERVER_VERSION);
    println!("  address    {}", addresses.join(", "));
    if let Some(http) = server.http_address() {
        println!("  console    {}", console(http, instance, settings));
        println!("  monitoring http://{http}/metrics and http://{http}/healthz");
    }
    println!("  data       {} (sync {})", settings.text(Id::DataDir), settings.text(Id::Sync));
    println!("  memory     {}: {}", units::size(total), each.join(", "));
    match (instance.has_passwords(), settings.given(Id::TlsCert)) {
        (false, _) => println!(
            "  security   no password is set: every user of this machine is trusted; \
             ALTER ROLE postgres PASSWORD '...' changes that"
        ),
        (true, None) => println!("  security   passwords (SCRAM-SHA-256), no TLS"),
        (true, Some(_)) => println!("  security   passwords (SCRAM-SHA-256), TLS"),
    }
    if let Some(address) = server.addresses().first() {
        let host = match address.ip() {
            ip if ip.is_unspecified() => "127.0.0.1".to_string(),
            ip => ip.to_string(),
        };
        println!("  next       psql -h {host} -p {} -U postgres", address.port());
    }
}
