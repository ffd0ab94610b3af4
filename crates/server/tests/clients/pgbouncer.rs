//! pgbouncer in transaction mode: its sessions with the server serve many clients, one transaction at a time.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use onlap_testkit::programs;

use crate::support::server::Onlap;
use crate::support::{Address, are_there, assert_same, postgres, run, script};

/// Debian's place of it, which is not in every PATH.
const PGBOUNCER: &str = "/usr/sbin/pgbouncer";
const NEEDED: [(&str, &str); 3] = [
    (PGBOUNCER, "apt-get install pgbouncer"),
    ("pgbench", "apt-get install postgresql"),
    ("/usr/lib/python3/dist-packages/psycopg2", "apt-get install python3-psycopg2"),
];

/// pgbouncer does not run as root; this is the user without rights.
const UNPRIVILEGED: u32 = 65_534;

const PORTS_TRIED: usize = 5;

/// A pool before a server; it ends with its test.
struct Pool {
    child: Child,
    address: Address,
}

impl Pool {
    /// Two sessions with a server, in a folder of the pool's own.
    fn start(dir: &Path, server: Address) -> Pool {
        // A port may be taken between the look for a free one and the start.
        let pool = (0..PORTS_TRIED).find_map(|_| Pool::try_start(dir, server));
        pool.expect("pgbouncer listens")
    }

    fn try_start(dir: &Path, server: Address) -> Option<Pool> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let config = dir.join("pgbouncer.ini");
        let text = format!(
            "[databases]\npostgres = user=postgres host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n\
             max_client_conn = 100\nserver_reset_query = DISCARD ALL\nserver_reset_query_always = 1\n\
             ignore_startup_parameters = extra_float_digits\n",
            server.port
        );
        std::fs::File::create(&config)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("the folder is the test's own");
        let program = programs::find(PGBOUNCER).expect("it is installed");
        let mut command = Command::new(program);
        command.arg("-q").arg(&config).stdin(Stdio::null()).stdout(Stdio::null());
        if is_root() {
            command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        }
        let child = command.stderr(Stdio::null()).spawn().expect("pgbouncer starts");
        // From here on it ends with this, whatever fails.
        let mut pool = Pool { child, address: Address { port } };
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            if pool.child.try_wait().expect("ours").is_some() {
                return None;
            }
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(pool);
            }
            assert!(Instant::now() < until, "pgbouncer does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0)
}

/// A folder that pgbouncer may read.
fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open).expect("the folder is the test's own");
    dir
}

#[test]
fn a_pool_of_transactions_serves_as_before_postgresql() {
    if !are_there(&NEEDED) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (onlap, postgres) = (Onlap::start(dir.path()), postgres::shared());
    let asked = |server: Address| {
        let folder = folder();
        let pool = Pool::start(folder.path(), server);
        let mut python = pool.address.command("/usr/bin/python3", "postgres");
        run(python.arg(script("python/pooled_client.py")))
    };
    let theirs = asked(postgres.address);
    assert!(theirs.lines().count() > 10, "the script says little: {theirs}");
    assert_same("pgbouncer", &asked(onlap.address), &theirs);
    // More clients than sessions, each with transactions of several statements.
    let folder = folder();
    let pool = Pool::start(folder.path(), onlap.address);
    let pgbench = |arguments: &[&str]| {
        run(pool.address.command("pgbench", "postgres").args(arguments).arg("postgres"))
    };
    pgbench(&["-i", "-q", "-s", "1"]);
    for mode in ["simple", "extended"] {
        let said = pgbench(&["-n", "-M", mode, "-c", "8", "-j", "2", "-t", "20"]);
        assert!(said.contains("actually processed: 160/160"), "{mode}: {said}");
    }
    let sums = "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)";
    assert_eq!(pool.address.sql("postgres", sums), "t");
}
