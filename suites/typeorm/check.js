// TypeORM: entities of all types, synchronize twice, generated and run migrations, repositories, query builder, locks.

const { DataSource, EntitySchema, In, IsNull, Like, ILike, Between, MoreThan, Not, Raw, ArrayContains, ArrayOverlap, JsonContains, Or, Any, Table, TableColumn, TableIndex, TableForeignKey, TableUnique, TableCheck } = require("typeorm");
const { check, main, url } = require("checks");

const column = (type, more = {}) => ({ type, nullable: true, ...more });
const Kinds = new EntitySchema({
  name: "Kinds", tableName: "kinds", comment: "all of them",
  columns: {
    id: { type: "int", primary: true, generated: "increment" }, uuid: { type: "uuid", generated: "uuid" }, identity: { type: "int", generated: "identity", generatedIdentity: "ALWAYS" }, small: column("smallint"), big: column("bigint"), numeric: column("numeric", { precision: 12, scale: 3 }), real: column("real"), double: column("double precision"),
    flag: { type: "boolean", default: true }, varchar: column("varchar", { length: 20, default: "none" }), char: column("char", { length: 3 }), text: column("text", { comment: "any" }), date: column("date"), time: column("time"), timetz: column("timetz"), timestamp: column("timestamp", { precision: 3 }), timestamptz: { type: "timestamptz", default: () => "now()" }, interval: column("interval"),
    json: column("json"), jsonb: column("jsonb", { default: {} }), mood: { type: "enum", enum: ["sad", "happy"], default: "sad" }, moods: column("enum", { enum: ["a", "b"], array: true }), tags: column("text", { array: true }), numbers: column("int", { array: true, default: "{1,2}" }), bytes: column("bytea"), inet: column("inet"), cidr: column("cidr"), mac: column("macaddr"),
    range: column("int4range"), dates: column("daterange"), bit: column("bit", { length: "4" }), money: column("money"), point: column("point"), simple: column("simple-array"), made: { type: "timestamptz", createDate: true }, changed: { type: "timestamptz", updateDate: true }, version: { type: "int", version: true }, citext: column("citext"), store: column("hstore", { hstoreType: "object" }),
    total: { type: "int", generatedType: "STORED", asExpression: "small * 2", nullable: true },
  },
  indices: [{ name: "kinds_some", columns: ["date", "small"], where: "\"flag\"" }, { name: "kinds_once", columns: ["varchar"], unique: true }], checks: [{ name: "kinds_small", expression: "\"small\" > -100" }], uniques: [{ name: "kinds_late", columns: ["char", "big"], deferrable: "INITIALLY DEFERRED" }],
});
const Person = new EntitySchema({
  name: "Person", columns: { id: { type: "int", primary: true, generated: true }, name: { type: "varchar", unique: true }, age: { type: "int", nullable: true }, gone: { type: "timestamptz", deleteDate: true } },
  relations: { posts: { type: "one-to-many", target: "Post", inverseSide: "author", cascade: true }, boss: { type: "many-to-one", target: "Person", nullable: true, onDelete: "SET NULL", joinColumn: true }, profile: { type: "one-to-one", target: "Profile", inverseSide: "person" } },
});
const Profile = new EntitySchema({ name: "Profile", columns: { id: { type: "uuid", primary: true, generated: "uuid" }, bio: { type: "text" } }, relations: { person: { type: "one-to-one", target: "Person", joinColumn: true, inverseSide: "profile", deferrable: "INITIALLY DEFERRED", onDelete: "CASCADE" } } });
const Post = new EntitySchema({ name: "Post", columns: { id: { type: "bigint", primary: true, generated: true }, title: { type: String }, score: { type: "int", default: 0 } }, relations: { author: { type: "many-to-one", target: "Person", nullable: false, onDelete: "CASCADE", inverseSide: "posts" }, tags: { type: "many-to-many", target: "Tag", joinTable: true, cascade: true } } });
const Tag = new EntitySchema({ name: "Tag", columns: { name: { type: String, primary: true } } });
const Seen = new EntitySchema({ name: "Seen", type: "view", expression: 'SELECT "p"."name" AS "name", count(*) AS "n" FROM "person" "p" JOIN "post" "o" ON "o"."authorId" = "p"."id" GROUP BY "p"."name"', columns: { name: { type: String }, n: { type: "bigint" } } });

class First1700000000001 {
  name = "First1700000000001";
  async up(r) {
    await r.createTable(new Table({ name: "made", columns: [{ name: "id", type: "int", isPrimary: true, isGenerated: true, generationStrategy: "increment" }, { name: "name", type: "varchar", length: "20", default: "'x'" }, { name: "state", type: "enum", enum: ["a", "b"] }, { name: "person", type: "int", isNullable: true }] }), true);
    await r.createIndex("made", new TableIndex({ name: "made_name", columnNames: ["name"], isUnique: true, where: "name <> ''" }));
    await r.createForeignKey("made", new TableForeignKey({ name: "made_person", columnNames: ["person"], referencedTableName: "person", referencedColumnNames: ["id"], onDelete: "CASCADE" }));
    await r.createUniqueConstraint("made", new TableUnique({ name: "made_once", columnNames: ["name", "state"] }));
    await r.createCheckConstraint("made", new TableCheck({ name: "made_check", expression: "person > 0" }));
  }
  async down(r) { await r.dropTable("made"); }
}
class Second1700000000002 {
  name = "Second1700000000002";
  async up(r) {
    await r.addColumn("made", new TableColumn({ name: "extra", type: "timestamptz", default: "now()" }));
    await r.changeColumn("made", "state", new TableColumn({ name: "state", type: "enum", enum: ["a", "b", "c"] }));
    await r.renameColumn("made", "extra", "more");
    await r.renameTable("made", "made2");
  }
  async down(r) { await r.renameTable("made2", "made"); await r.dropColumn("made", "more"); }
}

const source = new DataSource({ type: "postgres", url, entities: [Kinds, Person, Profile, Post, Tag, Seen], migrations: [First1700000000001, Second1700000000002], logging: false, poolSize: 5, installExtensions: true });
const plain = (found) => JSON.parse(JSON.stringify(found, (key, value) => (["made", "changed", "timestamptz", "gone"].includes(key) ? value !== null : value)));
const VALUES = {
  uuid: "00000000-0000-0000-0000-000000000001", small: -3, big: "9007199254740993", numeric: "123.456", real: 0.5, double: 1e-7, flag: false, varchar: "Zoë", char: "ab ", text: "a\n'b'", date: "2024-02-29", time: "23:59:59", timetz: "01:02:03+02", timestamp: new Date("2024-03-10T08:30:00.123Z"), interval: "1 day 02:00:00", json: { a: [1] }, jsonb: { k: { n: 1 } },
  mood: "happy", moods: ["a", "b"], tags: ["x", 'y"'], numbers: [3], bytes: Buffer.from([0, 255]), inet: "10.0.0.1", cidr: "10.0.0.0/8", mac: "08:00:2b:01:02:03", range: "[1,5)", dates: "[2024-01-01,2024-02-01)", bit: "1010", money: "$1.50", point: { x: 1, y: 2 }, simple: ["p", "q"], citext: "MiX", store: { a: "1" },
};

main(async () => {
  await check("initialize", async () => (await source.initialize()).isInitialized);
  await check("synchronize", () => source.synchronize());
  const pending = async () => (await source.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query);
  await check("nothing is left", pending);
  await check("run migrations", async () => (await source.runMigrations({ transaction: "each" })).map((m) => m.name));
  await check("pending migrations", () => source.showMigrations());
  await check("loaded table", async () => { const r = source.createQueryRunner(); const t = await r.getTable("made2"); await r.release(); return [t.columns.map((c) => [c.name, c.type, c.default, c.isNullable, c.enum]), t.indices.map((i) => [i.name, i.isUnique, i.where]), t.foreignKeys.map((f) => [f.name, f.onDelete]), t.uniques.map((u) => u.name), t.checks.map((c) => c.expression)]; });
  await check("undo migrations", async () => { await source.undoLastMigration(); await source.undoLastMigration(); });
  const kinds = source.getRepository("Kinds");
  const people = source.getRepository("Person");
  const posts = source.getRepository("Post");
  await check("all values", async () => { const { id } = await kinds.save(VALUES); return plain(await kinds.findOneBy({ id })); });
  await check("defaults", async () => plain(await kinds.save({ uuid: VALUES.uuid })));
  for (const [name, where] of Object.entries({ array: { tags: ArrayContains(["x"]) }, overlap: { numbers: ArrayOverlap([3, 9]) }, json: { jsonb: JsonContains({ k: { n: 1 } }) }, like: { varchar: Like("Z%") }, ilike: { varchar: ILike("zO%") }, in: { small: In([-3, 4]) }, null: { small: IsNull() }, between: { date: Between("2024-01-01", "2024-12-31") }, raw: { text: Raw((a) => `length(${a}) > 3`) }, or: { small: Or(MoreThan(5), In([-3])) }, not: { mood: Not("sad") }, any: { char: Any(["ab "]) } })) await check(`find ${name}`, async () => (await kinds.find({ where, select: { id: true }, order: { id: "ASC" } })).map((k) => k.id));
  await check("people", async () => { const tag = { name: "red" }; const [a, b] = await people.save([{ name: "Anna", age: 30, posts: [{ title: "A1", tags: [tag, { name: "blue" }] }, { title: "A2", score: 5 }] }, { name: "Bert", posts: [{ title: "B1", tags: [tag] }] }]); await people.save({ name: "Carl", boss: a }); await source.getRepository("Profile").save({ bio: "x", person: b }); return people.count(); });
  await check("relations", async () => (await people.find({ relations: { posts: { tags: true }, boss: true, profile: true }, order: { id: "ASC", posts: { id: "ASC", tags: { name: "ASC" } } } })).map((p) => [p.name, p.posts.map((o) => [o.title, o.tags]), p.boss?.name, p.profile?.bio]));
  await check("by query", async () => (await people.find({ relations: { posts: true }, relationLoadStrategy: "query", order: { id: "ASC" } })).map((p) => [p.name, p.posts.map((o) => o.title).sort()]));
  await check("page", async () => plain(await posts.findAndCount({ where: { author: { name: Not("Zed") } }, take: 2, skip: 1, order: { id: "ASC" } })));
  await check("builder", () => posts.createQueryBuilder("o").innerJoin("o.author", "p").select("p.name", "name").addSelect("sum(o.score)", "total").addSelect("count(*) FILTER (WHERE o.score > 1)", "n").groupBy("p.name").having("count(*) > :n", { n: 0 }).orderBy("p.name").getRawMany());
  await check("subquery", async () => (await people.createQueryBuilder("p").where((q) => `p.id IN ${q.subQuery().select("o.authorId").from("Post", "o").where("o.score > 1").getQuery()}`).getMany()).map((p) => p.name));
  await check("cte", () => source.createQueryBuilder().addCommonTableExpression("SELECT 1 AS n UNION ALL SELECT 2", "c").select("c.n", "n").from("c", "c").orderBy("c.n").getRawMany());
  await check("upsert", async () => { await people.upsert([{ name: "Anna", age: 31 }, { name: "Dora", age: 1 }], { conflictPaths: ["name"], skipUpdateIfNoValuesChanged: true }); return (await people.find({ order: { name: "ASC" } })).map((p) => [p.name, p.age]); });
  await check("insert or ignore", async () => (await people.createQueryBuilder().insert().values({ name: "Anna" }).orIgnore().returning("id").execute()).raw);
  await check("update", async () => (await posts.createQueryBuilder().update().set({ score: () => "score + 1" }).where("score > 0").returning(["score"]).execute()).raw);
  await check("increment", async () => { await posts.increment({ title: "A1" }, "score", 4); return [await posts.sum("score"), await posts.maximum("score"), await posts.average("score"), await people.exists({ where: { name: "Bert" } })]; });
  await check("soft delete", async () => { await people.softDelete({ name: "Carl" }); const n = [await people.count(), await people.count({ withDeleted: true })]; await people.restore({ name: "Carl" }); return n; });
  await check("stream", async () => { const stream = await people.createQueryBuilder("p").orderBy("p.id").stream(); const rows = []; for await (const row of stream) rows.push(row.p_name); return rows; });
  await check("view", async () => plain(await source.getRepository("Seen").find({ order: { name: "ASC" } })));
  await check("transaction", () => source.transaction("SERIALIZABLE", async (m) => { await m.insert("Tag", { name: "t" }); await m.transaction((n) => n.insert("Tag", { name: "t" })).catch(() => {}); return m.count("Tag"); }));
  for (const mode of ["pessimistic_read", "pessimistic_write", "pessimistic_partial_write", "pessimistic_write_or_fail", "for_no_key_update", "for_key_share"]) await check(`lock ${mode}`, () => source.transaction(async (m) => (await m.find("Person", { lock: { mode }, where: { name: "Anna" } })).length));
  await check("error of an optimistic lock", async () => { const k = await kinds.findOneBy({ small: -3 }); k.text = "new"; await kinds.save(k); return kinds.findOne({ where: { small: -3 }, lock: { mode: "optimistic", version: 1 } }); });
  for (const [name, run] of Object.entries({ unique: () => people.insert({ name: "Anna" }), foreign: () => posts.insert({ title: "x", author: { id: 99 } }), null: () => posts.insert({ author: { id: 1 } }), check: () => kinds.insert({ small: -500 }), enum: () => kinds.insert({ mood: "angry" }), long: () => kinds.insert({ varchar: "x".repeat(21) }), table: () => source.query("SELECT * FROM nowhere") })) await check(`error ${name}`, run);
  await check("remove", async () => { await people.remove(await people.findOneBy({ name: "Bert" })); return [await posts.count(), await source.getRepository("Profile").count()]; });
  await check("clear", () => source.getRepository("Tag").createQueryBuilder().delete().execute().then((r) => r.affected));
  await check("drop", () => source.dropDatabase());
  await source.destroy();
});
