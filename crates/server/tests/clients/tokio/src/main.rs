//! What tokio-postgres sends and reads: binary values, pipelining, COPY, portals, cancel.
//!
//! Prints one line per result, the same at every server.

use std::pin::pin;

use futures_util::{SinkExt as _, StreamExt as _, TryStreamExt as _, future};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, IsolationLevel, NoTls};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1).expect("the server's address");
    let (mut client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    let driver = tokio::spawn(connection);
    values(&client).await?;
    errors(&client).await?;
    pipeline(&client).await?;
    copy(&client).await?;
    transactions(&mut client).await?;
    cancel(&client).await?;
    drop(client);
    driver.await.expect("the connection's task")
}

async fn values(client: &Client) -> Result<(), Error> {
    let create = "create table item (id serial primary key, label text not null, ok bool, \
        small int2, plain int4, big int8, single float4, ratio float8, raw bytea, code varchar(5))";
    client.batch_execute(create).await?;
    let insert = "insert into item (label, ok, small, plain, big, single, ratio, raw, code) \
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id, big";
    let insert = client.prepare(insert).await?;
    println!("parameters {:?}", insert.params());
    let columns: Vec<(&str, &Type)> =
        insert.columns().iter().map(|c| (c.name(), c.type_())).collect();
    println!("columns {columns:?}");
    for i in 0..3i16 {
        let (plain, big) = (i32::from(i) * 70_000, i64::from(i) << 40);
        let (single, ratio) = (f32::from(i) / 2.0, f64::from(i) / 10.0);
        let raw = vec![0u8, 255, i as u8];
        let code = (i > 0).then_some("abc");
        let row = client
            .query_one(
                &insert,
                &[&"label", &(i == 1), &i, &plain, &big, &single, &ratio, &raw, &code],
            )
            .await?;
        println!("inserted {} {}", row.get::<_, i32>(0), row.get::<_, i64>("big"));
    }
    let replace = "insert into item (id, label, plain) values ($1, $2, $3) on conflict (id) \
        do update set plain = item.plain + $4, big = $5 where item.small < $6";
    println!("parameters {:?}", client.prepare(replace).await?.params());
    let select = client
        .prepare_typed("select * from item where id >= $1 order by id", &[Type::INT4])
        .await?;
    for row in client.query(&select, &[&1i32]).await? {
        let (label, ok): (String, bool) = (row.get("label"), row.get("ok"));
        let (small, plain, big): (i16, i32, i64) =
            (row.get("small"), row.get("plain"), row.get("big"));
        let (single, ratio): (f32, f64) = (row.get("single"), row.get("ratio"));
        let (raw, code): (Vec<u8>, Option<String>) = (row.get("raw"), row.get("code"));
        println!("row {label} {ok} {small} {plain} {big} {single} {ratio} {raw:?} {code:?}");
    }
    let changed =
        client.execute("update item set small = small + 1 where id < $1", &[&3i32]).await?;
    println!("changed {changed}");
    let any = "select id from item where id = any($1) order by id";
    let any = client.prepare_typed(any, &[Type::INT4_ARRAY]).await?;
    let ids = client.query(&any, &[&vec![1i32, 3]]).await?;
    println!("any {:?}", ids.iter().map(|row| row.get(0)).collect::<Vec<i32>>());
    Ok(())
}

async fn errors(client: &Client) -> Result<(), Error> {
    for statement in [
        "insert into item (id, label) values (1, 'again')",
        "insert into item (label) values (null)",
        "select * from nothing",
        "selec 1",
        "insert into item (label, code) values ('x', 'too long')",
    ] {
        let error = client.execute(statement, &[]).await.expect_err(statement);
        let db = error.as_db_error().expect("the server's error");
        println!(
            "error {:?} {:?} {:?} {:?}",
            db.code().code(),
            db.table(),
            db.column(),
            db.constraint()
        );
    }
    Ok(())
}

/// Statements that are all sent before the first answer is read.
async fn pipeline(client: &Client) -> Result<(), Error> {
    let square = client.prepare("select $1::int8 * $1").await?;
    let asked = (1..=20i64).map(|n| {
        let square = square.clone();
        async move { client.query_one(&square, &[&n]).await.map(|row| row.get::<_, i64>(0)) }
    });
    println!("squares {:?}", future::try_join_all(asked).await?);
    Ok(())
}

async fn copy(client: &Client) -> Result<(), Error> {
    client.batch_execute("create table line (id int primary key, word text)").await?;
    let mut sink = pin!(client.copy_in("copy line from stdin").await?);
    for piece in ["1\tone\n2\tt", "wo\n", "3\t\\N\n"] {
        sink.send(piece.as_bytes()).await?;
    }
    println!("copied {}", sink.finish().await?);
    let out = client.copy_out("copy (select * from line order by id) to stdout").await?;
    let out: Vec<_> = out.try_collect::<Vec<_>>().await?;
    println!(
        "out {:?}",
        out.iter().map(|piece| String::from_utf8_lossy(piece)).collect::<String>()
    );
    let sink = client.copy_in::<_, &[u8]>("copy line from stdin").await?;
    drop(sink);
    println!(
        "dropped {}",
        client.query_one("select count(*) from line", &[]).await?.get::<_, i64>(0)
    );
    Ok(())
}

async fn transactions(client: &mut Client) -> Result<(), Error> {
    let builder = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let mut outer = builder.start().await?;
    outer.execute("insert into line values (10, 'outer')", &[]).await?;
    let inner = outer.transaction().await?;
    inner.execute("insert into line values (11, 'inner')", &[]).await?;
    inner.rollback().await?;
    let portal = outer.bind("select id from line order by id", &[]).await?;
    loop {
        let rows = outer.query_portal(&portal, 3).await?;
        if rows.is_empty() {
            break;
        }
        println!("portal {:?}", rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>());
    }
    outer.commit().await?;
    let mut rows =
        pin!(client.query_raw("select word from line order by id", Vec::<i32>::new()).await?);
    while let Some(row) = rows.next().await {
        println!("word {:?}", row?.get::<_, Option<String>>(0));
    }
    Ok(())
}

async fn cancel(client: &Client) -> Result<(), Error> {
    client.batch_execute("create table n as select g as a from generate_series(1, 500) g").await?;
    let token = client.cancel_token();
    let long = "select count(*) from n a, n b, n c, n d where a.a + b.a + c.a <> d.a";
    let mut asked = pin!(client.query(long, &[]));
    let error = loop {
        // A request that comes before the statement begins cancels nothing, so it is repeated.
        let pause = tokio::time::sleep(std::time::Duration::from_millis(200));
        tokio::select! {
            answer = &mut asked => break answer.expect_err("it takes for ever"),
            () = pause => token.cancel_query(NoTls).await?,
        }
    };
    println!("cancelled {:?}", error.code().map(|state| state.code().to_string()));
    println!("after {}", client.query_one("select 1", &[]).await?.get::<_, i32>(0));
    Ok(())
}
