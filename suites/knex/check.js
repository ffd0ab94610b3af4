// knex: schema builder, migrations with their lock, queries, streams, transactions, errors.

const fs = require("node:fs");
const path = require("node:path");
const { check, main } = require("checks");
const knex = require("knex");

fs.mkdirSync("migrations");
fs.writeFileSync("migrations/1_first.js", `
exports.up = async (knex) => {
  await knex.schema.createTable("owner", (t) => { t.increments(); t.string("name", 50).notNullable().unique(); t.timestamps(true, true); t.comment("owners"); });
  await knex.schema.createTable("item", (t) => {
    t.bigIncrements("id"); t.integer("owner_id").unsigned().references("owner.id").onDelete("CASCADE").index(); t.text("body"); t.decimal("price", 10, 2).defaultTo(1.5); t.boolean("ok").defaultTo(false); t.date("day"); t.datetime("at"); t.time("hour"); t.jsonb("data"); t.json("raw");
    t.uuid("key").defaultTo(knex.fn.uuid()); t.binary("bytes"); t.enum("state", ["new", "done"], { useNative: true, enumName: "item_state" }).defaultTo("new"); t.enu("kind", ["a", "b"]); t.specificType("tags", "text[]"); t.float("f"); t.double("d"); t.smallint("s"); t.tinyint("ti");
    t.unique(["owner_id", "body"], { indexName: "item_once", deferrable: "deferred" }); t.index(["day", "at"], "item_times"); t.check("?? >= 0", ["price"], "item_price"); t.index(knex.raw("lower(body)"), "item_lower");
    t.index("ok", "item_ok", { predicate: knex.whereNotNull("day") });
  });
};
exports.down = async (knex) => { await knex.schema.dropTable("item"); await knex.raw("DROP TYPE item_state"); await knex.schema.dropTable("owner"); };
`);
fs.writeFileSync("migrations/2_second.js", `
exports.up = (knex) => knex.schema.alterTable("item", (t) => { t.string("note", 20).defaultTo("none"); t.renameColumn("raw", "source"); t.setNullable("price"); t.dropIndex([], "item_times"); t.dropColumn("ti"); t.text("f").alter(); });
exports.down = (knex) => knex.schema.alterTable("item", (t) => { t.dropColumn("note"); t.renameColumn("source", "raw"); t.index(["day", "at"], "item_times"); t.tinyint("ti"); });
exports.config = { transaction: true };
`);
const quiet = () => {};
const db = knex({ client: "pg", log: { warn: quiet, error: quiet, deprecate: quiet, debug: quiet }, connection: { host: process.env.PGHOST, port: process.env.PGPORT, user: "postgres", password: "none", database: process.env.PGDATABASE }, pool: { min: 0, max: 5 }, migrations: { directory: path.resolve("migrations") } });

async function schema() {
  await check("up 1", async () => (await db.migrate.up({ name: "1_first.js" }))[1]);
  await check("up 2", async () => (await db.migrate.up({ name: "2_second.js" }))[1]);
  await check("type of a column with a check", async () => { await db.schema.createTable("checked", (t) => t.enu("kind", ["a", "b"])); await db.schema.alterTable("checked", (t) => t.string("kind", 40).alter()); });
  await check("status", async () => [await db.migrate.currentVersion(), (await db.migrate.list())[0].map((m) => m.name)]);
  await check("latest again", async () => (await db.migrate.latest())[1]);
  await check("two at once", async () => (await Promise.allSettled([db.migrate.latest(), db.migrate.latest()])).map((r) => r.status));
  await check("down", async () => [(await db.migrate.down())[1], (await db.migrate.down())[1]]);
  await check("up", async () => [(await db.migrate.up())[1], (await db.migrate.up())[1]]);
  await check("columns", () => db("item").columnInfo());
  await check("has", async () => [await db.schema.hasTable("item"), await db.schema.hasTable("none"), await db.schema.hasColumn("item", "note"), await db.schema.hasColumn("item", "raw")]);
  await check("view", () => db.schema.createView("cheap", (v) => { v.columns(["id", "price"]); v.as(db("item").select("id", "price").where("price", "<", 5)); }));
  await check("rename", () => db.schema.renameTable("owner", "keeper").then(() => db.schema.renameTable("keeper", "owner")));
  await check("materialized", () => db.schema.createMaterializedView("sums", (v) => v.as(db("item").count("* as n"))).then(() => db.schema.refreshMaterializedView("sums", false)).then(() => db.schema.dropMaterializedView("sums")));
}

async function queries() {
  await check("insert", () => db("owner").insert([{ name: "Anna" }, { name: "Bert" }]).returning(["id", "name"]));
  await check("insert items", () => db("item").insert(Array.from({ length: 12 }, (_, n) => ({ owner_id: (n % 2) + 1, body: `Body ${n}`, price: n / 4, day: `2024-01-${10 + n}`, at: new Date(Date.UTC(2024, 0, 1, n)), data: { n, l: [n, n + 1] }, tags: ["x", `t${n % 3}`], key: "00000000-0000-0000-0000-000000000001", bytes: Buffer.from([n]), s: n, d: n / 8 }))).returning("id"));
  await check("batchInsert", () => db.batchInsert("item", Array.from({ length: 500 }, (_, n) => ({ body: `many ${n}`, price: null })), 100).returning("price").then((rows) => rows.length));
  const q = {
    first: () => db("item").where({ id: 3 }).first(), where: () => db("item").select("id").where("price", ">", 1).andWhere((b) => b.whereIn("owner_id", [1]).orWhereNull("owner_id")).whereNot("ok", true).orderBy("id"), like: () => db("item").pluck("id").whereILike("body", "body 1%").orderBy("id"),
    join: () => db("item as i").join("owner as o", "o.id", "i.owner_id").select("i.id", "o.name").where("i.id", "<", 5).orderBy("i.id"), left: () => db("owner").leftJoin("item", (j) => j.on("item.owner_id", "owner.id").andOnVal("item.price", ">", 2)).select("name", "body").orderBy(["name", "item.id"]),
    group: () => db("item").select("owner_id").count("* as n").sum("price as total").avg("s").whereNotNull("owner_id").groupBy("owner_id").having(db.raw("count(*)"), ">", 2).orderBy("owner_id"), distinct: () => db("item").distinctOn("owner_id").select("owner_id", "body").orderBy(["owner_id", { column: "id", order: "desc", nulls: "last" }]).whereNotNull("owner_id"),
    with: () => db.with("w", db("item").where("id", "<", 4)).from("w").select("id").orderBy("id"), recursive: () => db.withRecursive("t", db.raw("SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 4")).from("t").pluck("n"), window: () => db("item").select("id").rowNumber("r", "id", "owner_id").rank("k", ["price"]).where("id", "<", 7).orderBy("id"),
    union: () => db("item").select("id").where("id", 1).union([db("item").select("id").where("id", 2)]).orderBy("id"), json: () => db("item").jsonExtract("data", "$.l[0]", "x").whereJsonPath("data", "$.n", ">", 8).orderBy("id"), superset: () => db("item").pluck("id").whereJsonSupersetOf("data", { n: 4 }), array: () => db("item").pluck("id").whereRaw("tags @> ?", [["t1"]]).orderBy("id"),
    exists: () => db("owner").whereExists(db("item").whereRaw("item.owner_id = owner.id").where("price", ">", 2.5)).pluck("name"), conflict: () => db("owner").insert({ name: "Anna" }).onConflict("name").merge({ name: "Anna2" }).returning("*").then((r) => r.map((x) => [x.id, x.name])), ignore: () => db("owner").insert({ name: "Bert" }).onConflict().ignore(),
    update: () => db("item").where("id", "<", 3).update({ price: db.raw("?? * 2", ["price"]), state: "done" }, ["id", "price", "state"]), increment: () => db("item").where({ id: 4 }).increment({ s: 5 }).returning("s"), delete: () => db("item").where({ id: 5 }).del(["id"]), from: () => db("item").updateFrom("owner").update({ note: db.ref("owner.name") }).where("item.owner_id", db.ref("owner.id")).andWhere("item.id", 6).returning(["item.id", "note"]),
    raw: () => db.raw("SELECT :a::int AS a, ? AS b".replace("?", "'?'"), { a: 5 }).then((r) => r.rows), lateral: () => db.raw("SELECT i.id, l.t FROM item i, LATERAL unnest(i.tags) WITH ORDINALITY l (t, o) WHERE i.id = ? ORDER BY o", [2]).then((r) => r.rows), page: () => db("item").select("id").orderBy("id").limit(2).offset(4), count: () => db("item").countDistinct("owner_id as n").max("at").min("day"),
  };
  for (const [name, run] of Object.entries(q)) await check(name, run);
  await check("stream", async () => { let n = 0; for await (const row of db("item").select("id").orderBy("id").stream({ highWaterMark: 10 })) n += row.id > 0; return n; });
  await check("lock", () => db.transaction(async (t) => { await t("owner").where({ id: 1 }).forUpdate(); return db.transaction((o) => o("owner").pluck("id").orderBy("id").forUpdate().skipLocked()); }));
  await check("error of nowait", () => db.transaction(async (t) => { await t("owner").where({ id: 1 }).forNoKeyUpdate(); return db("owner").where({ id: 1 }).forUpdate().noWait(); }));
  await check("savepoint", () => db.transaction(async (t) => { await t("owner").insert({ name: "T" }); await t.transaction((n) => n("owner").insert({ name: "T" })).catch(() => {}); return t("owner").pluck("name").orderBy("id"); }, { isolationLevel: "serializable" }));
  await check("error of read only", () => db.transaction((t) => t("owner").del(), { readOnly: true }));
  for (const [name, run] of Object.entries({ unique: () => db("owner").insert({ name: "Bert" }), foreign: () => db("item").insert({ owner_id: 99 }), check: () => db("item").insert({ price: -1 }), enum: () => db("item").insert({ state: "gone" }), kind: () => db("item").insert({ kind: "c" }), deferred: () => db("item").insert([{ owner_id: 1, body: "twice" }, { owner_id: 1, body: "twice" }]), syntax: () => db.raw("SELEC") })) await check(`error ${name}`, run);
  await check("timeout", () => db.raw("SELECT pg_sleep(3)").timeout(100, { cancel: true }).catch((e) => e.name));
  await check("pool", async () => (await Promise.all(Array.from({ length: 50 }, (_, n) => db.raw("SELECT ?::int AS n", [n]).then((r) => r.rows[0].n)))).reduce((a, b) => a + b));
  await check("back", async () => [await db.schema.dropView("cheap"), (await db.migrate.rollback(undefined, true))[1]]);
}

main(async () => { await schema(); await queries(); await db.destroy(); });
