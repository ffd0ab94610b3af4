//! Which settings are there?
//!
//! The table behind everything else. A new setting is one entry here; what it does is for whoever reads
//! it by its [`Id`].

use super::Context::{Fixed, Session, Start, Superuser};
use super::Kind::{Checked, Flag, Number, Real, Text, Word};
use super::check;
use super::{Setting, Unit};

/// Declares the ids and the table from one list: category, then per setting its id, name, kind, default,
/// context, text, and what only some have.
macro_rules! settings {
    ($($category:literal { $(
        $id:ident $name:literal $kind:expr, $default:literal, $context:ident, $text:literal
        $(, flag $flag:literal)? $(, reported = $reported:literal)? ;
    )* })*) => {
        /// A setting, for programs: its place in [`SETTINGS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the table says what each is")]
        pub enum Id { $($($id),*),* }

        /// All settings, by id.
        pub const SETTINGS: &[Setting] = &[$($(Setting {
            id: Id::$id,
            name: $name,
            kind: $kind,
            default: $default,
            context: $context,
            flag: settings!(@flag $($flag)?),
            reported: settings!(@reported $($reported)?),
            category: $category,
            text: $text,
        }),*),*];
    };
    (@flag) => { None };
    (@flag $flag:literal) => { Some($flag) };
    (@reported) => { false };
    (@reported $reported:literal) => { $reported };
}

impl Id {
    /// Its entry.
    pub fn setting(self) -> &'static Setting {
        &SETTINGS[self as usize]
    }
}

const TIMES: i64 = i32::MAX as i64;
const GB: i64 = 1 << 30;
const LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];
const LOG_LEVELS: &[&str] = &[
    "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log",
    "fatal", "panic",
];
const ISOLATION: &[&str] =
    &["serializable", "repeatable read", "read committed", "read uncommitted"];

settings! {
    "Database" {
        DataDir "data_dir" Text, "./onlap-data", Start,
            "The database's directory; it is made where there is none.", flag "data-dir";
        MemoryLimit "memory_limit" Number(Unit::Bytes, 0, i64::MAX), "0", Start,
            "Memory for everything that grows with data; 0 takes a quarter of the machine's.",
            flag "memory-limit";
        Sync "sync" Checked(check::sync), "fsync", Start,
            "When a commit is acknowledged: fsync survives power loss, interval:MS loses at most so many \
             milliseconds to it, os leaves it to the operating system. A killed process loses nothing.",
            flag "sync";
        BackgroundJobs "background_jobs" Number(Unit::None, 1, 64), "2", Start,
            "Tasks that flush and merge.", flag "background-jobs";
    }
    "Connections" {
        Listen "listen" Text, "127.0.0.1:5652", Start,
            "Addresses to listen at, separated by commas. Other machines are served only with TLS and a \
             password.", flag "listen";
        MaxConnections "max_connections" Number(Unit::None, 1, 10_000), "100", Start,
            "Sessions at most.", flag "max-connections";
        ReservedConnections "superuser_reserved_connections" Number(Unit::None, 0, 10_000), "3", Start,
            "How many of them are kept for superusers.", flag "superuser-reserved-connections";
        MaxUnauthenticated "max_unauthenticated_connections" Number(Unit::None, 8, 10_000), "512", Start,
            "Connections that have said nothing yet, at most. Where one more comes, the oldest goes, of the address \
             that has most.", flag "max-unauthenticated-connections";
        MaxUnauthenticatedEach "max_unauthenticated_per_address" Number(Unit::None, 8, 10_000), "256", Start,
            "How many connections of one address (of IPv6: one network of 64 bits) may not have proved yet who \
             they are.", flag "max-unauthenticated-per-address";
        AuthenticationTimeout "authentication_timeout" Number(Unit::S, 1, 600), "10", Start,
            "Time from connecting to having proved who one is.";
        FailedLoginDelay "failed_login_delay" Number(Unit::Ms, 0, 60_000), "2s", Start,
            "The longest wait of a login after wrong passwords for its role from its address: 50 ms after the \
             first, and twice as long after each.";
        MaxMessageSize "max_message_size" Number(Unit::Bytes, 1 << 20, GB - 1), "128MB", Start,
            "The longest message of a client, and so the longest statement.";
        ShutdownTimeout "shutdown_timeout" Number(Unit::S, 0, 3600), "10", Start,
            "How long statements may go on once the server is asked to stop; then they are cancelled.",
            flag "shutdown-timeout";
    }
    "Security" {
        TlsCert "tls_cert" Text, "", Start,
            "Certificate in PEM, followed by those it was signed with.", flag "tls-cert";
        TlsKey "tls_key" Text, "", Start, "The certificate's key in PEM.", flag "tls-key";
        PasswordFile "password_file" Text, "", Start,
            "File whose first line becomes the password of role postgres at the start.",
            flag "password-file";
        Insecure "insecure" Flag, "off", Start,
            "Serve other machines without TLS and trust them without a password.", flag "insecure";
    }
    "Monitoring" {
        Http "http" Text, "", Start,
            "Address of the console, /healthz and /metrics; empty for none. The last two have no password.", flag "http";
        LogLevel "log_level" Word(&["error", "warn", "info", "debug"]), "info", Start,
            "What is written to standard error.", flag "log-level";
        LogMinDurationStatement "log_min_duration_statement" Number(Unit::Ms, -1, TIMES), "-1", Start,
            "Statements that took this long are logged; -1 for none.",
            flag "log-min-duration-statement";
    }
    "Client" {
        ApplicationName "application_name" Checked(check::ascii), "", Session, "The client's name for itself.", reported = true;
        ClientEncoding "client_encoding" Checked(check::encoding), "UTF8", Session,
            "The encoding of texts the client sends and gets.", reported = true;
        ClientMinMessages "client_min_messages" Word(LEVELS), "notice", Session,
            "The least of the messages that the client gets.";
        DateStyle "DateStyle" Checked(check::date_style), "ISO, MDY", Session,
            "How dates are written, and which way ambiguous ones are read.", reported = true;
        IntervalStyle "IntervalStyle" Word(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
            "postgres", Session, "How intervals are written.", reported = true;
        TimeZone "TimeZone" Checked(check::time_zone), "UTC", Session,
            "The zone in which times are shown, and which text and functions mean where none is said.", reported = true;
        ExtraFloatDigits "extra_float_digits" Number(Unit::None, -15, 3), "1", Session,
            "Digits of floating-point numbers; above 0 the shortest that are exact.";
        ByteaOutput "bytea_output" Word(&["escape", "hex"]), "hex", Session, "How bytes are written.";
        SearchPath "search_path" Checked(check::search_path), "\"$user\", public", Session,
            "Schemas in which names without one are looked for.";
        SessionAuthorization "session_authorization" Text, "postgres", Fixed,
            "The role that connected.", reported = true;
        Role "role" Text, "none", Session, "The role whose rights count.";
        IsSuperuser "is_superuser" Flag, "on", Fixed, "Whether the role may do everything.", reported = true;
    }
    "Transactions" {
        DefaultTransactionIsolation "default_transaction_isolation" Word(ISOLATION),
            "read committed", Session, "The level of new transactions.";
        DefaultTransactionReadOnly "default_transaction_read_only" Flag, "off", Session,
            "Whether new transactions only read.", reported = true;
        DefaultTransactionDeferrable "default_transaction_deferrable" Flag, "off", Session,
            "Without effect.";
        TransactionIsolation "transaction_isolation" Word(ISOLATION), "read committed",
            Session, "The level of this transaction.";
        TransactionReadOnly "transaction_read_only" Flag, "off", Session,
            "Whether this transaction only reads.";
        TransactionDeferrable "transaction_deferrable" Flag, "off", Session, "Without effect.";
        StatementTimeout "statement_timeout" Number(Unit::Ms, 0, TIMES), "0", Session,
            "How long a statement may take; 0 for any time.";
        LockTimeout "lock_timeout" Number(Unit::Ms, 0, TIMES), "0", Session,
            "How long a statement may wait for a lock; 0 for any time.";
        IdleInTransactionSessionTimeout "idle_in_transaction_session_timeout"
            Number(Unit::Ms, 0, TIMES), "0", Session,
            "How long a client may be silent inside a transaction before its session ends.";
        IdleSessionTimeout "idle_session_timeout" Number(Unit::Ms, 0, TIMES), "0", Session,
            "How long a client may be silent outside of transactions before its session ends.";
        TransactionTimeout "transaction_timeout" Number(Unit::Ms, 0, TIMES), "0", Session,
            "Without effect; dumps of newer releases set it.";
        DeadlockTimeout "deadlock_timeout" Number(Unit::Ms, 1, TIMES), "1s", Superuser,
            "Without effect: deadlocks are found at once.";
        SynchronousCommit "synchronous_commit" Word(&["local", "remote_write", "remote_apply", "on", "off"]),
            "on", Session, "Without effect: the setting sync decides, for all.";
    }
    "Execution" {
        FastPath "fast_path" Flag, "on", Session,
            "Run simple statements without a plan; off for comparing.";
        Hypothetical "onlap.hypothetical" Text, "", Session,
            "CREATE INDEX statements whose indexes EXPLAIN supposes to be there.";
        AdviceTime "onlap.advice_time" Number(Unit::Ms, 0, 3_600_000), "4s", Session,
            "How long onlap.advise() plans statements and predicts indexes; it says what had no time.";
        TrackStatements "pg_stat_statements.track" Word(&["none", "top", "all"]), "top", Superuser,
            "Which statements are counted; all is as top: those within functions are part of what called them.";
        QueryMemoryLimit "query_memory_limit" Number(Unit::Kb, 0, TIMES), "0", Session,
            "Memory for one planned query, within what all share; it spills to disk or ends with 53200 \
             beyond; 0 for all of it.";
        WorkMem "work_mem" Number(Unit::Kb, 64, TIMES), "4MB", Session,
            "Without effect: see query_memory_limit.";
        MaintenanceWorkMem "maintenance_work_mem" Number(Unit::Kb, 1024, TIMES), "64MB", Session,
            "Without effect.";
        PlanCacheMode "plan_cache_mode"
            Word(&["auto", "force_generic_plan", "force_custom_plan"]), "auto", Session, "Without effect.";
        EnableSeqscan "enable_seqscan" Flag, "on", Session, "Without effect.";
        EnableIndexscan "enable_indexscan" Flag, "on", Session, "Without effect.";
        EnableIndexonlyscan "enable_indexonlyscan" Flag, "on", Session, "Without effect.";
        EnableBitmapscan "enable_bitmapscan" Flag, "on", Session, "Without effect.";
        EnableHashjoin "enable_hashjoin" Flag, "on", Session, "Without effect.";
        EnableMergejoin "enable_mergejoin" Flag, "on", Session, "Without effect.";
        EnableNestloop "enable_nestloop" Flag, "on", Session, "Without effect.";
        EnableSort "enable_sort" Flag, "on", Session, "Without effect.";
        EnableHashagg "enable_hashagg" Flag, "on", Session, "Without effect.";
        EnableMemoize "enable_memoize" Flag, "on", Session, "Without effect.";
        EnableTidscan "enable_tidscan" Flag, "on", Session, "Without effect.";
        EnableMaterial "enable_material" Flag, "on", Session, "Without effect.";
        EnableIncrementalSort "enable_incremental_sort" Flag, "on", Session, "Without effect.";
        EnableGathermerge "enable_gathermerge" Flag, "on", Session, "Without effect.";
        EnableParallelAppend "enable_parallel_append" Flag, "on", Session, "Without effect.";
        EnableParallelHash "enable_parallel_hash" Flag, "on", Session, "Without effect.";
        EnablePartitionPruning "enable_partition_pruning" Flag, "on", Session, "Without effect.";
        EnablePartitionwiseJoin "enable_partitionwise_join" Flag, "off", Session, "Without effect.";
        EnablePartitionwiseAggregate "enable_partitionwise_aggregate" Flag, "off", Session, "Without effect.";
        EnableAsyncAppend "enable_async_append" Flag, "on", Session, "Without effect.";
        ConstraintExclusion "constraint_exclusion" Word(&["partition", "on", "off"]), "partition", Session,
            "Without effect.";
        FromCollapseLimit "from_collapse_limit" Number(Unit::None, 1, TIMES), "8", Session, "Without effect.";
        JoinCollapseLimit "join_collapse_limit" Number(Unit::None, 1, TIMES), "8", Session, "Without effect.";
        CpuTupleCost "cpu_tuple_cost" Real(0.0, f64::MAX), "0.01", Session, "Without effect.";
        CpuIndexTupleCost "cpu_index_tuple_cost" Real(0.0, f64::MAX), "0.005", Session, "Without effect.";
        CpuOperatorCost "cpu_operator_cost" Real(0.0, f64::MAX), "0.0025", Session, "Without effect.";
        CursorTupleFraction "cursor_tuple_fraction" Real(0.0, 1.0), "0.1", Session, "Without effect.";
        DefaultStatisticsTarget "default_statistics_target" Number(Unit::None, 1, 10_000), "100", Session,
            "Without effect.";
        MaxParallelWorkers "max_parallel_workers" Number(Unit::None, 0, 1024), "8", Session, "Without effect.";
        MaxParallelMaintenanceWorkers "max_parallel_maintenance_workers" Number(Unit::None, 0, 1024), "2",
            Session, "Without effect.";
        ParallelLeaderParticipation "parallel_leader_participation" Flag, "on", Session, "Without effect.";
        EffectiveIoConcurrency "effective_io_concurrency" Number(Unit::None, 0, 1000), "1", Session,
            "Without effect.";
        Jit "jit" Flag, "off", Session, "Without effect.";
        JitAboveCost "jit_above_cost" Real(-1.0, f64::MAX), "100000", Session, "Without effect.";
        Geqo "geqo" Flag, "on", Session, "Without effect.";
        GeqoThreshold "geqo_threshold" Number(Unit::None, 2, TIMES), "12", Session, "Without effect.";
        HashMemMultiplier "hash_mem_multiplier" Real(1.0, 1000.0), "2", Session, "Without effect.";
        MaxStackDepth "max_stack_depth" Number(Unit::Kb, 100, TIMES), "2MB", Superuser,
            "Without effect: statements are limited in depth, see the limits.";
        MinParallelTableScanSize "min_parallel_table_scan_size" Number(Unit::Kb, 0, TIMES), "8MB", Session,
            "Without effect.";
        MinParallelIndexScanSize "min_parallel_index_scan_size" Number(Unit::Kb, 0, TIMES), "512kB", Session,
            "Without effect.";
        ParallelSetupCost "parallel_setup_cost" Real(0.0, f64::MAX), "1000", Session, "Without effect.";
        ParallelTupleCost "parallel_tuple_cost" Real(0.0, f64::MAX), "0.1", Session, "Without effect.";
        ForceParallelMode "force_parallel_mode" Word(&["off", "on", "regress"]), "off", Session,
            "Without effect.";
        RandomPageCost "random_page_cost" Real(0.0, f64::MAX), "4", Session, "Without effect.";
        SeqPageCost "seq_page_cost" Real(0.0, f64::MAX), "1", Session, "Without effect.";
        MaxParallelWorkersPerGather "max_parallel_workers_per_gather" Number(Unit::None, 0, 1024), "2",
            Session, "Without effect.";
    }
    "Compatibility" {
        StandardConformingStrings "standard_conforming_strings" Flag, "on", Session,
            "Backslashes in '...' are backslashes; off: escapes.", reported = true;
        EscapeStringWarning "escape_string_warning" Flag, "on", Session,
            "A warning of a backslash in '...' while those are escapes.";
        BackslashQuote "backslash_quote" Word(&["safe_encoding", "on", "off"]), "safe_encoding", Session,
            "Whether \\' may be a quote in E'...'; safe_encoding: unless the client's encoding has a backslash within \
             characters.";
        ArrayNulls "array_nulls" Flag, "on", Session, "Only on is served.";
        QuoteAllIdentifiers "quote_all_identifiers" Flag, "off", Session, "Only off is served.";
        TransformNullEquals "transform_null_equals" Flag, "off", Session, "Only off is served.";
        SynchronizeSeqscans "synchronize_seqscans" Flag, "on", Session, "Without effect.";
        RowSecurity "row_security" Flag, "on", Session, "Policies of tables are asked; off: a statement for which they count is refused.";
        CheckFunctionBodies "check_function_bodies" Flag, "on", Session, "CREATE FUNCTION reads the body.";
        XmlOption "xmloption" Word(&["content", "document"]), "content", Session,
            "Whether a text that becomes xml may be content, or must be a document.";
        XmlBinary "xmlbinary" Word(&["base64", "hex"]), "base64", Session, "How bytea stands in xml.";
        DefaultTableAccessMethod "default_table_access_method" Checked(check::access_method), "heap", Session, "Without effect.";
        DefaultTablespace "default_tablespace" Checked(check::tablespace), "", Session, "Without effect.";
        TempTablespaces "temp_tablespaces" Checked(check::tablespaces), "", Session, "Without effect.";
        DefaultTextSearchConfig "default_text_search_config" Checked(check::text_search), "pg_catalog.english",
            Session, "By which configuration texts are searched where none is named.";
        DefaultToastCompression "default_toast_compression" Word(&["pglz", "lz4"]), "pglz", Session, "Without effect.";
        SessionReplicationRole "session_replication_role" Word(&["origin", "replica", "local"]), "origin",
            Superuser, "Without effect; replica is not served.";
        PasswordEncryption "password_encryption" Word(&["scram-sha-256"]), "scram-sha-256", Session,
            "How passwords are kept.";
        LcMessages "lc_messages" Checked(check::locale), "C", Superuser,
            "Only C and en_US are served, which are the same.";
        LcMonetary "lc_monetary" Checked(check::locale), "C", Session,
            "Only C and en_US are served, which are the same.";
        LcNumeric "lc_numeric" Checked(check::locale), "C", Session,
            "Only C and en_US are served, which are the same.";
        LcTime "lc_time" Checked(check::locale), "C", Session,
            "Only C and en_US are served, which are the same.";
        LogStatement "log_statement" Word(&["none", "ddl", "mod", "all"]), "none", Superuser,
            "Without effect.";
        LogMinMessages "log_min_messages" Word(LOG_LEVELS), "warning", Superuser, "Without effect: see log_level.";
        LogMinErrorStatement "log_min_error_statement" Word(LOG_LEVELS), "error", Superuser, "Without effect.";
        LogDuration "log_duration" Flag, "off", Superuser, "Without effect.";
        LogLockWaits "log_lock_waits" Flag, "off", Superuser, "Without effect.";
        TrackCounts "track_counts" Flag, "on", Superuser, "Without effect.";
        TrackIoTiming "track_io_timing" Flag, "off", Superuser, "Without effect.";
        TrackFunctions "track_functions" Word(&["none", "pl", "all"]), "none", Superuser, "Without effect.";
        TrackActivities "track_activities" Flag, "on", Superuser, "Without effect.";
    }
    "Extensions" {
        SimilarityThreshold "pg_trgm.similarity_threshold" Real(0.0, 1.0), "0.3", Session,
            "From which similarity on `%` of pg_trgm is true.";
        WordSimilarityThreshold "pg_trgm.word_similarity_threshold" Real(0.0, 1.0), "0.6", Session,
            "The same for `<%`.";
        StrictWordSimilarityThreshold "pg_trgm.strict_word_similarity_threshold" Real(0.0, 1.0), "0.5",
            Session, "The same for `<<%`.";
    }
    "Fixed" {
        ServerVersion "server_version" Text, "15.0", Fixed,
            "The release of PostgreSQL whose clients are served.", reported = true;
        ServerVersionNum "server_version_num" Number(Unit::None, 0, TIMES), "150000", Fixed,
            "The same as a number.";
        ServerEncoding "server_encoding" Text, "UTF8", Fixed, "The encoding of texts.", reported = true;
        IntegerDatetimes "integer_datetimes" Flag, "on", Fixed, "Times are whole microseconds.", reported = true;
        InHotStandby "in_hot_standby" Flag, "off", Fixed, "Whether this is a copy of another.", reported = true;
        MaxIdentifierLength "max_identifier_length" Number(Unit::None, 63, 63), "63", Fixed,
            "Bytes of a name.";
        MaxIndexKeys "max_index_keys" Number(Unit::None, 32, 32), "32", Fixed, "Columns of a key.";
        BlockSize "block_size" Number(Unit::None, 8192, 8192), "8192", Fixed,
            "What clients multiply pg_class.relpages with.";
        LcCollate "lc_collate" Text, "C", Fixed, "Texts are ordered by their bytes.";
        LcCtype "lc_ctype" Text, "C", Fixed, "The classes of characters.";
        WalLevel "wal_level" Text, "replica", Fixed, "Without meaning.";
        MaxPreparedTransactions "max_prepared_transactions" Number(Unit::None, 0, 0), "0", Fixed,
            "There are no prepared transactions.";
        DataChecksums "data_checksums" Flag, "on", Fixed, "Every block has a checksum.";
        DataDirectory "data_directory" Text, "", Fixed, "The whole path of data_dir.";
        SharedBuffers "shared_buffers" Number(Unit::Blocks, 0, i64::MAX >> 13), "0", Fixed,
            "What memory_limit says, for monitors.";
        Autovacuum "autovacuum" Flag, "on", Fixed, "Dead rows are removed in the background.";
        AutovacuumNaptime "autovacuum_naptime" Number(Unit::S, 1, 2_147_483), "60", Fixed,
            "PostgreSQL's default, for monitors: dead rows are removed as soon as there are many.";
        AutovacuumVacuumThreshold "autovacuum_vacuum_threshold" Number(Unit::None, 0, 2_147_483_647), "50",
            Fixed, "PostgreSQL's default, for monitors.";
        AutovacuumVacuumScaleFactor "autovacuum_vacuum_scale_factor" Real(0.0, 100.0), "0.2", Fixed,
            "PostgreSQL's default, for monitors.";
        AutovacuumMaxWorkers "autovacuum_max_workers" Number(Unit::None, 0, 64), "2", Fixed,
            "What background_jobs says, for monitors.";
        MaxWorkerProcesses "max_worker_processes" Number(Unit::None, 0, 64), "2", Fixed,
            "What background_jobs says, for monitors.";
        MaxWalSenders "max_wal_senders" Number(Unit::None, 0, 0), "0", Fixed, "There are no standbys.";
        MaxReplicationSlots "max_replication_slots" Number(Unit::None, 0, 0), "0", Fixed,
            "There are no replication slots.";
        MaxLogicalReplicationWorkers "max_logical_replication_workers" Number(Unit::None, 0, 0), "0",
            Fixed, "There are no subscriptions.";
        HotStandby "hot_standby" Flag, "off", Fixed, "There are no standbys.";
        ArchiveMode "archive_mode" Word(&["off"]), "off", Fixed, "There is no archive of the log.";
        Ssl "ssl" Flag, "off", Fixed, "Whether TLS is offered.";
        Port "port" Number(Unit::None, 0, 65_535), "5652", Fixed, "The first port listened at.";
    }
}
