//! Accounts and a work queue: levels of isolation, savepoints, row locks.
//!
//! `cargo run -p onlap --example transactions`

use onlap::{
    DataType, Database, ErrorKind, Isolation, KeyRange, LockWait, Options, Result, RowLock, Scan,
    Table, TableSpec, TransactionOptions, Value,
};

/// Moves money, as if nobody else were there; runs again where somebody was in the way.
fn transfer(db: &Database, accounts: &Table, from: i64, to: i64, cents: i64) -> Result<bool> {
    loop {
        let mut tx = db.begin_with(TransactionOptions::at(Isolation::Serializable))?;
        let mut change = |account: i64, by: i64| {
            tx.update_with(accounts, &[Value::Int(account)], &["cents"], |row| {
                if let Value::Int(cents) = &mut row[1] {
                    *cents += by;
                }
                Ok(())
            })
        };
        let moved = change(from, -cents).and_then(|there| Ok(there && change(to, cents)?));
        match moved.and_then(|moved| if moved { tx.commit().map(|_| true) } else { Ok(false) }) {
            Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::Deadlock) => {}
            result => return result,
        }
    }
}

/// Takes the oldest work that nobody else has taken, and does it.
fn work(db: &Database, queue: &Table) -> Result<Option<String>> {
    let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted))?;
    let oldest = tx.index_row_ids(queue, "queue_pkey", KeyRange::all())?;
    for row in oldest {
        let any = &mut |_, _: &onlap::Row| Ok(true);
        let locked = tx.lock_rows(queue, &[row], RowLock::Update, LockWait::SkipLocked, any)?;
        if !locked.is_empty() {
            let found = tx.fetch(queue, &locked, Some(&["what"]))?.row(0);
            tx.delete_rows(queue, &locked)?;
            tx.commit()?;
            let [Value::Text(what)] = &found[..] else { unreachable!("one column of text") };
            return Ok(Some(what.clone()));
        }
    }
    Ok(None)
}

fn main() -> Result<()> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let db = Database::open(dir.path(), Options::default())?;
    let accounts = db.create_table(
        TableSpec::new("accounts")
            .column("id", DataType::Int8)
            .column("cents", DataType::Int8)
            .primary_key(["id"]),
    )?;
    accounts.insert_many([[Value::Int(1), Value::Int(500)], [Value::Int(2), Value::Int(0)]])?;
    assert!(transfer(&db, &accounts, 1, 2, 120)?);
    for row in db.snapshot()?.scan(&accounts, Scan::all())?.rows()? {
        println!("account {:?} has {:?} cents", row[0], row[1]);
    }

    let queue = db.create_table(
        TableSpec::new("queue").serial("id").column("what", DataType::Text).primary_key(["id"]),
    )?;
    let mut tx = db.begin()?;
    tx.insert(&queue, &[Value::Null, Value::Text("sort the mail".into())])?;
    let before = tx.savepoint();
    tx.insert(&queue, &[Value::Null, Value::Text("burn the mail".into())])?;
    tx.rollback_to(&before)?;
    tx.insert(&queue, &[Value::Null, Value::Text("answer the mail".into())])?;
    tx.commit()?;
    while let Some(what) = work(&db, &queue)? {
        println!("done: {what}");
    }
    db.close()
}
