// Drizzle: drizzle-kit generates and migrates, pulls the schema back; queries, relations, upserts, transactions.

const fs = require("node:fs");
const path = require("node:path");
const { execFileSync } = require("node:child_process");
const { Pool } = require("pg");
const { sql, eq, and, or, gt, inArray, like, desc, count, sum, exists, arrayContains, relations } = require("drizzle-orm");
const pg = require("drizzle-orm/pg-core");
const { drizzle } = require("drizzle-orm/node-postgres");
const { migrate } = require("drizzle-orm/node-postgres/migrator");
const { check, main, url } = require("checks");

const SCHEMA = `
const { sql } = require("drizzle-orm");
const pg = require("drizzle-orm/pg-core");
exports.mood = pg.pgEnum("mood", ["sad", "happy"]);
exports.kinds = pg.pgTable("kinds", {
  id: pg.serial("id").primaryKey(), big: pg.bigserial("big", { mode: "number" }), small: pg.smallint("small"), int8: pg.bigint("int8", { mode: "bigint" }), numeric: pg.numeric("numeric", { precision: 12, scale: 3 }), real: pg.real("real"), double: pg.doublePrecision("double"), flag: pg.boolean("flag").default(true).notNull(),
  text: pg.text("text"), varchar: pg.varchar("varchar", { length: 20 }).default("none"), char: pg.char("char", { length: 3 }), json: pg.json("json"), jsonb: pg.jsonb("jsonb").default({ a: 1 }), date: pg.date("date"), time: pg.time("time"), timestamp: pg.timestamp("timestamp", { precision: 3 }), timestamptz: pg.timestamp("timestamptz", { withTimezone: true }).defaultNow(), interval: pg.interval("interval"),
  uuid: pg.uuid("uuid").defaultRandom(), mood: exports.mood("mood").default("sad"), tags: pg.text("tags").array().default(sql\`'{}'::text[]\`), inet: pg.inet("inet"), cidr: pg.cidr("cidr"), mac: pg.macaddr("mac"), point: pg.point("point"), ident: pg.integer("ident").generatedAlwaysAsIdentity({ startWith: 100 }), total: pg.integer("total").generatedAlwaysAs(sql\`small * 2\`),
}, (t) => [pg.index("kinds_low").on(sql\`lower(\${t.text})\`), pg.uniqueIndex("kinds_some").on(t.varchar).where(sql\`\${t.flag}\`), pg.index("kinds_tags").using("gin", t.tags), pg.check("kinds_small", sql\`\${t.small} > -100\`), pg.index("kinds_date").on(t.date, t.small)]);
exports.people = pg.pgTable("people", { id: pg.integer("id").primaryKey().generatedByDefaultAsIdentity(), name: pg.text("name").notNull().unique(), boss: pg.integer("boss").references(() => exports.people.id, { onDelete: "set null" }) });
exports.posts = pg.pgTable("posts", { id: pg.serial("id").primaryKey(), title: pg.text("title").notNull(), score: pg.integer("score").default(0), author: pg.integer("author").notNull().references(() => exports.people.id, { onDelete: "cascade" }) }, (t) => [pg.unique("posts_once").on(t.author, t.title)]);
exports.pairs = pg.pgTable("pairs", { a: pg.integer("a"), b: pg.integer("b"), EXTRA }, (t) => [pg.primaryKey({ columns: [t.a, t.b] })]);
exports.seen = pg.pgView("seen").as((q) => q.select({ id: exports.people.id }).from(exports.people));
`;
const modules = process.env.MODULES;
fs.symlinkSync(modules, "node_modules");
const write = (extra) => fs.writeFileSync("schema.js", SCHEMA.replace("EXTRA", extra));
const kit = (...words) => {
  try {
    execFileSync("node", [path.join(modules, "drizzle-kit", "bin.cjs"), ...words], { stdio: ["ignore", "pipe", "pipe"], timeout: 60000 });
    return "done";
  } catch (error) {
    console.error(String(error.stdout), String(error.stderr));
    return "failed";
  }
};

main(async () => {
  write("");
  fs.writeFileSync("drizzle.config.js", `module.exports = { dialect: "postgresql", schema: "./schema.js", out: "./out", dbCredentials: { url: "${url}" } };`);
  fs.writeFileSync("pull.config.js", fs.readFileSync("drizzle.config.js", "utf8").replace("./out", "./pulled"));
  await check("generate", () => kit("generate", "--name=first"));
  const before = new Pool({ connectionString: url, max: 1 });
  await check("migrator first", () => migrate(drizzle(before), { migrationsFolder: "out" }));
  await before.end();
  await check("migrate", () => kit("migrate"));
  await check("push changes nothing", () => kit("push", "--force"));
  await check("pull", () => [kit("introspect", "--config=pull.config.js"), // Of an index of several columns it takes the classes in any order.
    fs.readFileSync("pulled/schema.ts", "utf8").replace(/\.op\("\w+"\)/g, "")]);
  write('c: pg.varchar("c", { length: 9 }).default("x"),');
  await check("generate again", () => kit("generate", "--name=second"));
  const pool = new Pool({ connectionString: url, max: 4 });
  const schema = require(path.resolve("schema.js"));
  const { kinds, people, posts, pairs, seen } = schema;
  const more = { peopleRelations: relations(people, ({ many, one }) => ({ posts: many(posts), boss: one(people, { fields: [people.boss], references: [people.id] }) })), postsRelations: relations(posts, ({ one }) => ({ author: one(people, { fields: [posts.author], references: [people.id] }) })) };
  const db = drizzle(pool, { schema: { ...schema, ...more } });
  // As drizzle-kit writes an index of desc().
  await check("an index with NULLS LAST", () => pool.query('CREATE INDEX "by_score" ON "posts" USING btree ("score" DESC NULLS LAST)'));
  await pool.query("DROP INDEX IF EXISTS by_score");
  await check("migrator", () => migrate(db, { migrationsFolder: "out" }));
  await check("migrator again", () => migrate(db, { migrationsFolder: "out" }));
  await check("migrations", async () => (await pool.query("SELECT id FROM drizzle.__drizzle_migrations ORDER BY id")).rows);
  const VALUES = { small: 5, int8: 9007199254740993n, numeric: "1.250", real: 0.5, double: 1e-7, flag: false, text: "Zoë", varchar: "v", char: "abc", json: { a: [1] }, jsonb: { k: 1 }, date: "2024-02-29", time: "01:02:03", timestamp: new Date("2024-03-10T08:30:00.123Z"), timestamptz: new Date("2024-03-10T08:30:00Z"), interval: "1 day", uuid: "00000000-0000-0000-0000-000000000001", mood: "happy", tags: ["a", 'b"'], inet: "10.0.0.1", cidr: "10.0.0.0/8", mac: "08:00:2b:01:02:03", point: [1, 2] };
  await check("all values", () => db.insert(kinds).values(VALUES).returning());
  await check("find", () => db.select({ id: kinds.id, up: sql`upper(${kinds.text})` }).from(kinds).where(and(arrayContains(kinds.tags, ["a"]), eq(sql`${kinds.jsonb}->>'k'`, "1"), or(eq(kinds.mood, "happy"), gt(kinds.small, 9)))));
  await check("people", () => db.insert(people).values([{ name: "Anna" }, { name: "Bert", boss: 1 }]).returning());
  await check("posts", () => db.insert(posts).values([1, 2, 3].flatMap((n) => [{ title: `A${n}`, author: 1, score: n }, { title: `B${n}`, author: 2 }])).returning({ id: posts.id }));
  await check("relations", () => db.query.people.findMany({ with: { posts: { columns: { title: true }, orderBy: [desc(posts.id)], limit: 2, where: gt(posts.id, 1) }, boss: true }, orderBy: [people.id] }));
  await check("first", () => db.query.posts.findFirst({ with: { author: { columns: { name: true } } }, where: like(posts.title, "B%"), orderBy: posts.id, extras: { loud: sql`upper(${posts.title})`.as("loud") } }));
  await check("join", () => db.select({ name: people.name, n: count(), total: sum(posts.score) }).from(people).leftJoin(posts, eq(posts.author, people.id)).groupBy(people.name).having(gt(count(), 1)).orderBy(people.name));
  const best = db.$with("best").as(db.select({ author: posts.author, top: sql`max(${posts.score})`.as("top") }).from(posts).groupBy(posts.author));
  await check("with", () => db.with(best).select().from(best).where(gt(best.top, 0)));
  await check("exists", () => db.select({ name: people.name }).from(people).where(exists(db.select().from(posts).where(and(eq(posts.author, people.id), gt(posts.score, 2))))));
  await check("upsert", () => db.insert(people).values([{ name: "Anna" }, { name: "Carl" }]).onConflictDoUpdate({ target: people.name, set: { boss: sql`2` } }).returning({ name: people.name, boss: people.boss }));
  await check("do nothing", () => db.insert(people).values({ name: "Anna" }).onConflictDoNothing());
  await check("update", () => db.update(posts).set({ score: sql`${posts.score} + 10` }).where(inArray(posts.id, [1, 2])).returning({ score: posts.score }));
  await check("delete", () => db.delete(posts).where(eq(posts.id, 6)).returning({ title: posts.title }));
  await check("view", () => db.select().from(seen).orderBy(seen.id));
  await check("prepared", async () => { const p = db.select({ id: posts.id }).from(posts).where(gt(posts.score, sql.placeholder("n"))).orderBy(posts.id).prepare("by_score"); return [await p.execute({ n: 5 }), await p.execute({ n: 0 })]; });
  await check("transaction", () => db.transaction(async (tx) => { await tx.insert(pairs).values({ a: 1, b: 1 }); await tx.transaction((inner) => inner.insert(pairs).values({ a: 1, b: 1 })).catch(() => {}); return tx.select().from(pairs); }, { isolationLevel: "serializable", accessMode: "read write", deferrable: true }));
  await check("locks", () => db.transaction((tx) => tx.select({ id: people.id }).from(people).orderBy(people.id).limit(1).for("update", { skipLocked: true, of: people })));
  for (const [name, run] of Object.entries({ unique: () => db.insert(people).values({ name: "Anna" }), foreign: () => db.insert(posts).values({ title: "x", author: 99 }), check: () => db.insert(kinds).values({ small: -500 }), generated: () => db.execute(sql`UPDATE kinds SET total = 1`), always: () => db.execute(sql`INSERT INTO kinds (ident) VALUES (1)`) })) await check(`error ${name}`, run);
  await pool.end();
  write("");
  await check("push a change back", () => kit("push", "--force"));
});
