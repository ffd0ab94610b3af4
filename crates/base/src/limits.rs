//! How large may anything be, and why that large?
//!
//! Every limit that a user or an operator can meet stands here once, with its derivation (rule I7).
//! `docs/limits.md` is generated from [`LIMITS`]. Pure constants: nothing here knows who enforces
//! them; each is checked at the edge, before the log sees a byte.

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Longest value in bytes. A value travels through the log, a memtable and a blob frame in one
/// piece; 16 MiB keeps each of those copies below a sixteenth of the smallest useful budget
/// (256 MiB).
pub const VALUE_BYTES: usize = (16 * MIB) as usize;

/// Longest row in bytes, all columns together: two of the longest values, so that a row fits one log
/// record ([`LOG_RECORD_BYTES`]) many times over.
pub const ROW_BYTES: usize = (32 * MIB) as usize;

/// Longest encoded index key in bytes, all columns together. Eight of them fit a block of
/// [`BLOCK_BYTES`], so that a search inside a block always has something to halve.
pub const KEY_BYTES: usize = (2 * KIB) as usize;

/// Longest key of an index that has several entries of a row, in bytes. Twice the longest word of any language that
/// has words; makers of keys hash what is longer, and the row decides. Key bytes stay below [`KEY_BYTES`] when each of
/// them takes two.
pub const ENTRY_BYTES: usize = 128;

/// Most entries of one row in one index: as many as a value of [`VALUE_BYTES`] has where each takes 16 bytes. What
/// sorts the entries of one row takes 16 MiB then, as the value itself.
pub const ENTRIES: usize = 1 << 20;

/// Most columns in a table: what PostgreSQL's clients are used to, and a null bitmap of 200 bytes.
pub const COLUMNS: usize = 1600;

/// Most indexes on one table: the set of indexes a statement touches is one 64-bit word.
pub const INDEXES: usize = 64;

/// Most key columns in one index, as in PostgreSQL. INCLUDE columns count against [`COLUMNS`].
pub const KEY_COLUMNS: usize = 32;

/// Longest name of a column, index or constraint in bytes, as in PostgreSQL (64 with its closing zero).
pub const NAME_BYTES: usize = 63;

/// Longest name of a table or sequence in bytes: SQL puts those of its database and schema before it, with two bytes between,
/// and may write a character as three.
pub const RELATION_NAME_BYTES: usize = 3 * 3 * NAME_BYTES + 2;

/// Most tables in a database. Each costs some 4 KiB resident when idle (schema, version, memtable
/// header): 400 MiB at the limit, the quarter of a 1.6 GiB budget.
pub const TABLES: usize = 100_000;

/// Most sequences in a database: one per table, as many as there may be of those.
pub const SEQUENCES: usize = TABLES;

/// Most checks on one table: each is evaluated for each row; a schema that needs more than this many
/// takes fewer, larger ones.
pub const CHECKS: usize = 64;

/// Most foreign keys of which one table is the child; each costs a lookup per row.
pub const FOREIGN_KEYS: usize = 64;

/// Most parts of one expression: a list of a thousand values, and conditions around it. The largest
/// takes some 100 KiB in memory, small compared with a table's header times the columns it may have.
pub const EXPR_NODES: usize = 2048;

/// Deepest nesting of an expression. It is walked by recursion, a frame of at most 1 KiB a level;
/// the smallest stack that anything runs on has 2 MiB.
pub const EXPR_DEPTH: usize = 128;

/// Most brackets, calls and CASEs of a statement within each other, where a query or a view counts for 16: each level takes
/// 32 KiB of stack at most, and this many 64 MiB, a quarter of the memory that a server is given by default.
pub const STATEMENT_NESTING: usize = 2000;

/// Most operators, casts, joins and words of a statement in one chain: `a + b + …`. Each level of the tree names
/// itself by the text below it: this many hold 10 MiB of such names at a time.
pub const STATEMENT_CHAIN: usize = 2000;

/// Most terms of AND and OR in one chain. They are one node of every tree, and no level; each takes some 800 bytes of
/// tokens, trees and steps: 160 MB.
pub const STATEMENT_TERMS: usize = 200_000;

/// Most queries of UNION, INTERSECT and EXCEPT in one chain. Each takes a level of stack (8 KiB at most) where the chain
/// is walked: 80 MiB of address space, which any machine has.
pub const STATEMENT_SETS: usize = 10_000;

/// Most tables, views and WITH queries that a statement reads once its views and WITH queries are written out in
/// the places where it names them: each takes some 10 KiB of plan.
pub const STATEMENT_RELATIONS: usize = 5000;

/// Longest text that the log has of a defect, and longest plan: a plan of a hundred steps, of 160 bytes each. More would say
/// less, and a client that meets a defect again and again would fill the disk with it.
pub const DEFECT_BYTES: usize = 16 << 10;
/// Bytes of the values of a row that an error keeps to tell of them: 64 of each column are shown, of texts of values whose form is
/// not their text. Values behind it are cut before they are kept, so that a row of large values is not held twice.
pub const FAILING_ROW_BYTES: usize = MIB as usize;

/// Longest value that a function makes, as in PostgreSQL: the length of a value fits 30 bits.
pub const COMPUTED_BYTES: usize = GIB as usize;

/// Most values of a sequence set aside at a time: what a crash may skip.
pub const SEQUENCE_CACHE: u32 = 1 << 20;

/// Most digits of a numeric: 38 decimal digits fit a 128-bit integer.
pub const NUMERIC_DIGITS: usize = 38;

/// Longest declared length of varchar(n) and char(n) in characters, as in PostgreSQL.
pub const CHARACTERS: u32 = 10_485_760;

/// Longest word of a tsvector or tsquery in bytes, as in PostgreSQL: its length fits 11 bits, and the longest is refused.
pub const LEXEME_BYTES: usize = (1 << 11) - 2;

/// All words and places of a tsvector, or all words of a tsquery, end below this, as in PostgreSQL: where a word begins fits
/// 20 bits.
pub const LEXEMES_BYTES: usize = MIB as usize;

/// Most places of a word in a tsvector, as in PostgreSQL.
pub const LEXEME_PLACES: usize = 256;

/// Most parentheses of a tsquery within each other: each waits with a list of its operators, 32 at most
/// ([`QUERY_WAITING`]), which is 1 MiB and more at this many; its reader needs no stack for them.
pub const QUERY_NESTING: u32 = 8192;

/// Most operators of a tsquery that wait for their right side between two parentheses, as in PostgreSQL.
pub const QUERY_WAITING: usize = 32;

/// Most words and operators of a tsquery that ts_rank_cd takes, as in PostgreSQL: it has 2 bytes for each of 16,384 places of
/// every one and 8 more, and less than 1 GiB in one piece.
pub const RANKED_NODES: usize = (COMPUTED_BYTES - 1) / ((1 << 14) * 2 + 8);

/// Size at which a block of a segment or run is closed, in bytes. One 16-KiB read is what slow
/// devices charge as one I/O, and what a flash page holds.
pub const BLOCK_BYTES: usize = (16 * KIB) as usize;

/// Fewest rows in a full segment block. Wide rows then make a block larger than [`BLOCK_BYTES`], but
/// the per-block cost (header, zones, index entry; some 100 bytes) stays below 2 bytes a row.
pub const BLOCK_ROWS_MIN: usize = 64;

/// Most rows in a segment block: a row's place in its block fits 12 bits, and a decoded column of
/// eight bytes fits the first-level cache (32 KiB).
pub const BLOCK_ROWS_MAX: usize = 4096;

/// Values longer than this leave their segment block for a blob frame: two of them in every row
/// would otherwise make each block larger than [`BLOCK_BYTES`] many times over.
pub const INLINE_VALUE_BYTES: usize = (2 * KIB) as usize;

/// Most bytes of long values, all columns together, that the rows of one segment block have, except for
/// a single row: a reader that takes a block whole holds no more, and reads them at once. With
/// values of a little over 2 KiB that is 500 rows, whose other columns and references are worth a
/// block.
pub const BLOCK_BLOB_BYTES: usize = MIB as usize;

/// Size at which a run's file is closed and the next begun, in bytes. A merge replaces a run file by
/// file; its transient space is a few of them, below 10 percent of any run over 1 GiB.
pub const RUN_FILE_BYTES: u64 = 32 * MIB;

/// Size at which a segment is closed, in bytes: compaction rewrites whole segments, and at 64 MiB
/// one takes under a second and a sixteenth of a 1-GiB disk.
pub const SEGMENT_BYTES: u64 = 64 * MIB;

/// Most row ids between the two ends of one bottom run: their offsets fit 30 bits.
pub const RUN_ROWS: u64 = 1 << 30;

/// Most rows of one row-batch operation or commit body piece; larger commits are logged in pieces.
/// A position in a batch fits a `u32` with room to spare.
pub const BATCH_ROWS: usize = 1 << 24;

/// Longest log record in bytes, which is the longest commit that is logged in one piece: 32 of the
/// longest rows, and a length that fits 31 bits. Larger transactions spill into files first.
pub const LOG_RECORD_BYTES: usize = GIB as usize;

/// Size of one log file in bytes, preallocated and recycled; a longer record gets a file of its own.
/// An eighth of [`LOG_LIMIT_DEFAULT`]: that is how much of the log waits for the rest of its file.
pub const LOG_FILE_BYTES: u64 = 32 * MIB;

/// Most bytes that a database keeps back for deletes and drops on a full disk: a log file for their records,
/// and two for what flushes and compactions write before they remove more: the largest segment.
pub const MARGIN_BYTES: u64 = 3 * LOG_FILE_BYTES;

/// Rows of a table that were written blindly and have not met the rows before them: as many keys as a
/// filter of 64 MiB holds at 16 bits each. One percent of a table's rows where that is more.
pub const PENDING_ROWS: u64 = 64 * MIB * 8 / 16;

/// Log kept before a flush is forced, in bytes, by default. At 0.5 µs per row and 30 bytes of log per
/// row recovery reads it in under 5 seconds.
pub const LOG_LIMIT_DEFAULT: u64 = 256 * MIB;

/// Smallest `log_limit`: one log file being written while one waits for its flush.
pub const LOG_LIMIT_MIN: u64 = 2 * LOG_FILE_BYTES;

/// Samples of the database's figures that are kept at least, once there were as many: a day at one in ten seconds.
pub const SAMPLES_KEPT: usize = 8640;

/// Most bytes of files that samples take: a day in full files of 810 KiB, and one that is being filled.
pub const SAMPLES_BYTES: u64 = 4 * MIB;

/// Smallest `memory_limit`. The six parts of the budget must each hold what they cannot do without;
/// the tightest is the log's sixty-fourth, one group of 512 KiB.
pub const MEMORY_LIMIT_MIN: u64 = 32 * MIB;

/// Most bytes in one chunk of a memtable: a reader that copies a chunk copies no more than this.
pub const CHUNK_BYTES: usize = (8 * MIB) as usize;

/// Most background jobs (flushes, merges, compactions) at a time.
pub const BACKGROUND_JOBS: usize = 64;

/// Most advisory locks, each counted once for each session that has it or waits for it. One takes some 300 bytes: 5 MiB,
/// a sixth of [`MEMORY_LIMIT_MIN`]; PostgreSQL has room for 6400 locks unless it is told otherwise.
pub const ADVISORY_LOCKS: usize = 16_384;

/// Most bytes of notifications (NOTIFY) of transactions that have committed and that sessions have not read yet, where a 32nd
/// of the memory, up to 64 MiB, is not more: an eighth of [`MEMORY_LIMIT_MIN`], and some ten thousand of usual length.
pub const NOTIFICATION_BYTES: usize = (4 * MIB) as usize;

/// Bits per key of a filter: a false positive rate of about 1 in 1000 with one cache line touched.
pub const FILTER_BITS_PER_KEY: usize = 16;

const _: () = assert!(ROW_BYTES >= 2 * VALUE_BYTES, "a row holds two of the longest values");
const _: () = assert!(LOG_RECORD_BYTES >= 2 * ROW_BYTES, "a log record holds any row");
const _: () = assert!(LOG_LIMIT_DEFAULT >= LOG_LIMIT_MIN, "the default is allowed");
const _: () = assert!(SAMPLES_BYTES >= SAMPLES_KEPT as u64 * 288, "a day fits");
const _: () =
    assert!(MARGIN_BYTES >= LOG_FILE_BYTES + SEGMENT_BYTES, "a segment is compacted from it");
const _: () = assert!(KEY_BYTES >= 2 * ENTRY_BYTES + 4, "an entry's key is a key");
const _: () = assert!(ENTRIES * 16 <= VALUE_BYTES, "a list of keys is a value");
const _: () = assert!(BLOCK_BYTES >= 8 * KEY_BYTES, "a block holds eight of the longest keys");
const _: () = assert!(BLOCK_BLOB_BYTES <= VALUE_BYTES, "a value is the most of a column and block");
const _: () = assert!(2 * LEXEME_BYTES < LEXEMES_BYTES, "a text has words of the longest kind");
const _: () = assert!(QUERY_WAITING <= RANKED_NODES, "what waits is ranked");
const _: () = assert!(BLOCK_ROWS_MIN < BLOCK_ROWS_MAX, "the two ends are in order");
const _: () = assert!(STATEMENT_NESTING / 16 >= 100, "a hundred queries are within each other");
const _: () = assert!(STATEMENT_SETS <= STATEMENT_TERMS, "terms are no levels, queries are");
const _: () = assert!(INDEXES <= u64::BITS as usize, "a set of indexes is one word");

/// One row of `docs/limits.md`.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What is limited, in the words of the documentation.
    pub name: &'static str,
    /// The limit itself.
    pub value: u64,
    /// Unit of the value: `bytes`, `rows`, `columns` and so on.
    pub unit: &'static str,
    /// Where the number comes from.
    pub why: &'static str,
}

macro_rules! limits {
    ($($value:ident, $name:literal, $unit:literal, $why:literal;)*) => {
        &[$(Limit { name: $name, value: $value as u64, unit: $unit, why: $why }),*]
    };
}

/// All limits, in the order of the documentation.
pub const LIMITS: &[Limit] = limits![
    VALUE_BYTES, "value", "bytes",
        "travels through log, memtable and blob frame in one piece, a sixteenth of 256 MiB";
    ROW_BYTES, "row", "bytes", "two of the longest values; fits one log record";
    KEY_BYTES, "index key, encoded", "bytes", "eight fit one block";
    ENTRY_BYTES, "key of an index with several entries of a row", "bytes", "who makes longer ones hashes them";
    ENTRIES, "entries of a row in one index", "entries", "a value of 16 MiB at 16 bytes each";
    COLUMNS, "columns of a table", "columns", "as in PostgreSQL; a null bitmap of 200 bytes";
    INDEXES, "indexes of a table", "indexes", "a set of indexes is one 64-bit word";
    KEY_COLUMNS, "key columns of an index", "columns", "as in PostgreSQL";
    NAME_BYTES, "name of a column, index or constraint; in SQL, of anything", "bytes", "as in PostgreSQL";
    RELATION_NAME_BYTES, "name of a table or sequence", "bytes", "those of database, schema and table in SQL";
    TABLES, "tables of a database", "tables", "some 4 KiB resident each when idle";
    SEQUENCES, "sequences of a database", "sequences", "one per table";
    CHECKS, "checks on a table", "checks", "each is evaluated for each row";
    FOREIGN_KEYS, "foreign keys of a child table", "foreign keys", "each is a lookup per row";
    EXPR_NODES, "parts of an expression", "parts", "a list of a thousand values and more";
    EXPR_DEPTH, "nesting of an expression", "levels", "walked by recursion, 1 KiB of stack a level";
    STATEMENT_NESTING, "nesting of a statement", "levels", "32 KiB of stack each; a query or a view counts for 16";
    STATEMENT_CHAIN, "operators of a statement in one chain", "operators", "10 MiB of names of the levels of its tree";
    STATEMENT_TERMS, "terms of AND and OR in one chain", "terms", "800 bytes of plan each";
    STATEMENT_SETS, "queries of UNION and the like in one chain", "queries", "8 KiB of stack each";
    STATEMENT_RELATIONS, "tables of a statement, views and WITH queries written out", "tables", "10 KiB of plan each";
    FAILING_ROW_BYTES, "values that an error keeps of a row that was refused", "bytes", "64 bytes of each column are shown";
    COMPUTED_BYTES, "value that a function makes", "bytes", "as in PostgreSQL";
    SEQUENCE_CACHE, "values of a sequence set aside at a time", "values", "what a crash may skip";
    NUMERIC_DIGITS, "digits of a numeric", "digits", "fit a 128-bit integer";
    CHARACTERS, "declared length of varchar and char", "characters", "as in PostgreSQL";
    LEXEME_BYTES, "word of a tsvector or tsquery", "bytes", "as in PostgreSQL";
    LEXEMES_BYTES, "words and places of a tsvector, words of a tsquery", "bytes", "as in PostgreSQL: where a word begins fits 20 bits";
    LEXEME_PLACES, "places of a word in a tsvector", "places", "as in PostgreSQL";
    QUERY_NESTING, "parentheses of a tsquery within each other", "levels", "each waits with up to 32 operators";
    QUERY_WAITING, "operators of a tsquery that wait for their right side", "operators", "as in PostgreSQL";
    RANKED_NODES, "words and operators of a tsquery for ts_rank_cd", "nodes", "as in PostgreSQL: places of each in less than 1 GiB";
    BATCH_ROWS, "rows of one batch", "rows", "a position in a batch fits 32 bits";
    INLINE_VALUE_BYTES, "value kept inside its block", "bytes", "longer ones go to blob frames";
    BLOCK_BLOB_BYTES, "longer values of the rows of a block", "bytes", "held and read at once; or one row";
    BLOCK_BYTES, "block, when it is closed", "bytes", "one I/O of a slow device, one flash page";
    BLOCK_ROWS_MIN, "rows of a full block, at least", "rows", "block overhead below 2 bytes a row";
    BLOCK_ROWS_MAX, "rows of a block, at most", "rows",
        "a decoded column of eight bytes fits 32 KiB";
    CHUNK_BYTES, "chunk of a memtable", "bytes", "the most a reader copies at once";
    SEGMENT_BYTES, "segment, when it is closed", "bytes", "compacted whole in under a second";
    RUN_FILE_BYTES, "file of a run, when it is closed", "bytes",
        "merges replace runs file by file: little transient space";
    RUN_ROWS, "row ids of one bottom run", "rows", "offsets fit 30 bits";
    FILTER_BITS_PER_KEY, "filter", "bits per key", "one false positive in about 1000";
    LOG_RECORD_BYTES, "log record", "bytes", "the longest commit logged in one piece; larger ones spill first";
    LOG_FILE_BYTES, "log file", "bytes", "an eighth of the default log; a longer record gets its own file";
    MARGIN_BYTES, "kept for deletes and drops on a full disk", "bytes",
        "a log file, and an eighth of the database up to the largest segment";
    PENDING_ROWS, "blind rows not resolved, or 1 percent of a table", "rows", "64 MiB at 16 bits each";
    LOG_LIMIT_DEFAULT, "log kept, by default", "bytes", "opened in under 5 seconds where memtables hold its rows";
    LOG_LIMIT_MIN, "log kept, at least", "bytes", "two log files";
    SAMPLES_KEPT, "samples of a database's figures", "samples", "a day at one in ten seconds";
    SAMPLES_BYTES, "files of samples", "bytes", "a day and 8 hours at 288 bytes each";
    MEMORY_LIMIT_MIN, "memory_limit, at least", "bytes", "the log's share still holds one group";
    BACKGROUND_JOBS, "background jobs", "jobs", "each needs its buffers out of the budget";
    ADVISORY_LOCKS, "advisory locks of all sessions", "locks", "some 300 bytes each, a sixth of the smallest memory_limit";
    NOTIFICATION_BYTES, "notifications that were not delivered yet; 1/32 of memory_limit where that is more, up to 64 MiB", "bytes", "an eighth of the smallest memory_limit";
];
