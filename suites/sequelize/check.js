// Sequelize: models of all types, sync and alter, associations, finders, transactions, errors.

const { DataTypes, Op, Sequelize, Transaction, fn, col, literal, where, cast } = require("sequelize");
const { Client } = require("pg");
const { check, main, url } = require("checks");

const db = new Sequelize(url, { logging: false, pool: { max: 4 }, define: { underscored: true } });

const All = db.define("all_types", {
  id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
  big: DataTypes.BIGINT, small: DataTypes.SMALLINT, real: DataTypes.REAL, double: DataTypes.DOUBLE, decimal: DataTypes.DECIMAL(12, 3), flag: { type: DataTypes.BOOLEAN, defaultValue: true },
  string: { type: DataTypes.STRING(20), allowNull: false }, text: DataTypes.TEXT, char: DataTypes.CHAR(3), citext: DataTypes.CITEXT, blob: DataTypes.BLOB, date: DataTypes.DATE, day: DataTypes.DATEONLY, time: DataTypes.TIME,
  uuid: { type: DataTypes.UUID, defaultValue: literal("gen_random_uuid()") }, json: DataTypes.JSON, jsonb: DataTypes.JSONB, mood: DataTypes.ENUM("sad", "happy"), tags: DataTypes.ARRAY(DataTypes.STRING), numbers: DataTypes.ARRAY(DataTypes.INTEGER),
  store: DataTypes.HSTORE, inet: DataTypes.INET, cidr: DataTypes.CIDR, mac: DataTypes.MACADDR, range: DataTypes.RANGE(DataTypes.INTEGER), dates: DataTypes.RANGE(DataTypes.DATE),
}, {
  timestamps: false, comment: "all of them",
  indexes: [{ fields: ["jsonb"], using: "gin" }, { fields: [fn("lower", col("string"))], name: "all_lower" }, { unique: true, fields: ["big"], where: { flag: true }, name: "all_big" }, { fields: [{ name: "day", order: "DESC" }, "small"], name: "all_day" }],
});
const User = db.define("user", { name: { type: DataTypes.STRING, unique: true, allowNull: false }, age: { type: DataTypes.INTEGER, validate: { min: 0 } }, version: DataTypes.INTEGER }, { paranoid: true, version: "revision" });
const Post = db.define("post", { title: { type: DataTypes.STRING, comment: "shown" }, body: DataTypes.TEXT, score: { type: DataTypes.INTEGER, defaultValue: 0 } });
const Tag = db.define("tag", { name: { type: DataTypes.STRING, unique: "tag_name" } }, { timestamps: false });
User.hasMany(Post, { foreignKey: { name: "userId", allowNull: false }, onDelete: "CASCADE" });
Post.belongsTo(User, { foreignKey: "userId" });
Post.belongsToMany(Tag, { through: "post_tags", timestamps: false });
Tag.belongsToMany(Post, { through: "post_tags", timestamps: false });
User.belongsTo(User, { as: "boss", constraints: true });

const json = (found) => JSON.parse(JSON.stringify(found, (key, value) => (["createdAt", "updatedAt", "deletedAt", "created_at", "updated_at", "deleted_at"].includes(key) ? value !== null : value)));
const VALUES = {
  big: "9007199254740993", small: -3, real: 0.5, double: 1.5e-7, decimal: "123456789.125", flag: false, string: "Zoë", text: "line\n'q'", char: "ab", citext: "MiXed", blob: Buffer.from([0, 255]), date: new Date("2024-03-10T08:30:00.123Z"), day: "2024-02-29", time: "23:59:59",
  uuid: "00000000-0000-0000-0000-000000000007", json: { a: [1, null] }, jsonb: { k: { n: [1, 2] } }, mood: "happy", tags: ["a", "b c", 'q"'], numbers: [1, 2], store: { a: "1", b: null }, inet: "10.0.0.1", cidr: "10.0.0.0/8", mac: "08:00:2b:01:02:03", range: [1, 5], dates: [new Date("2024-01-01"), new Date("2024-02-01")],
};

async function schema() {
  const q = db.getQueryInterface();
  // Types of extensions are looked up at the first connection.
  const client = new Client({ connectionString: url });
  await client.connect();
  await check("extensions", async () => (await client.query("CREATE EXTENSION hstore; CREATE EXTENSION citext")).map((r) => r.command));
  await client.end();
  await check("authenticate", () => db.authenticate());
  await check("version", async () => (await db.databaseVersion()).split(".")[0]);
  await check("sync", async () => (await db.sync({ force: true })).config.database);
  await check("sync again", async () => Boolean(await db.sync()));
  await check("alter", async () => Boolean(await db.sync({ alter: true })));
  // So that both servers go on alike.
  await db.sync({ force: true });
  await check("add column", () => q.addColumn("tags", "color", { type: DataTypes.STRING(10), defaultValue: "none", allowNull: false }));
  await check("change column", () => q.changeColumn("tags", "color", { type: DataTypes.STRING(30), allowNull: true, defaultValue: "red" }));
  await check("rename column", () => q.renameColumn("tags", "color", "colour"));
  await check("add constraint", () => q.addConstraint("tags", { type: "check", fields: ["colour"], where: { colour: { [Op.ne]: "bad" } }, name: "good" }));
  await check("add index", () => q.addIndex("posts", ["title", "score"], { name: "posts_title" }));
  await check("error of a bad colour", () => db.query("INSERT INTO tags (name, colour) VALUES ('x', 'bad')"));
  await check("remove constraint", () => q.removeConstraint("tags", "good"));
  await check("remove column", () => q.removeColumn("tags", "colour"));
  for (const table of ["users", "posts", "tags", "all_types"]) {
    await check(`describe ${table}`, () => q.describeTable(table));
    await check(`indexes ${table}`, async () => (await q.showIndex(table)).map(({ oid, indkey, ...rest }) => rest.name + rest.unique + rest.primary + rest.definition).sort());
    await check(`foreign keys ${table}`, async () => (await q.getForeignKeyReferencesForTable(table)).map((k) => [k.constraintName, k.columnName, k.referencedTableName, k.referencedColumnName]).sort());
    await check(`constraints ${table}`, async () => (await q.showConstraint(table)).map((c) => [c.constraintName.replace(/^\d+_\d+_/, ""), c.constraintType ?? c.definition]).sort());
  }
  await check("tables", async () => (await q.showAllTables()).map((t) => t.tableName ?? t).sort());
  await check("schemas", async () => [await q.createSchema("other"), (await q.showAllSchemas()).map((s) => s.schema_name ?? s).sort(), await q.dropSchema("other")]);
}

async function values() {
  await check("all values", async () => { const made = await All.create(VALUES); await made.reload(); return json(made); });
  await check("null values", async () => json(await All.create({ string: "only", uuid: VALUES.uuid })));
  for (const [name, condition] of Object.entries({
    jsonb_path: where(literal("jsonb #>> '{k,n,1}'"), "2"), jsonb: { jsonb: { [Op.contains]: { k: {} } } }, array: { tags: { [Op.contains]: ["a"] } }, overlap: { numbers: { [Op.overlap]: [2, 9] } }, range: { range: { [Op.contains]: 3 } }, adjacent: { range: { [Op.adjacent]: [5, 9] } },
    citext: { citext: "mixed" }, ilike: { string: { [Op.iLike]: "zO%" } }, regexp: { string: { [Op.iRegexp]: "^z" } }, any: { string: { [Op.like]: { [Op.any]: ["Z%", "Q%"] } } }, between: { day: { [Op.between]: ["2024-01-01", "2024-12-31"] } }, not: { mood: { [Op.not]: null } },
    fn: where(fn("lower", col("string")), "zoë"), cast: where(cast(col("small"), "text"), "-3"), or: { [Op.or]: [{ small: -3 }, { small: 9 }], flag: false },
  })) await check(`find ${name}`, async () => (await All.findAll({ where: condition, attributes: ["id"], order: ["id"] })).map((a) => a.id));
  await check("bulkCreate", async () => json((await User.bulkCreate([{ name: "Anna", age: 30 }, { name: "Bert", age: 40 }, { name: "Carl", age: 50 }], { returning: true })).map((u) => [u.id, u.name, u.revision])));
  await check("ignoreDuplicates", async () => (await Tag.bulkCreate([{ name: "red" }, { name: "red" }, { name: "blue" }], { ignoreDuplicates: true })).length);
  await check("updateOnDuplicate", async () => (await User.bulkCreate([{ name: "Anna", age: 31 }], { updateOnDuplicate: ["age"], conflictAttributes: ["name"] })).length);
  await check("upsert", async () => { const [user, made] = await User.upsert({ name: "Bert", age: 41 }, { conflictFields: ["name"] }); return [user.age, made]; });
  await check("findOrCreate", async () => [(await User.findOrCreate({ where: { name: "Dora" }, defaults: { age: 20 } }))[1], (await User.findOrCreate({ where: { name: "Dora" } }))[1], (await User.findCreateFind({ where: { name: "Emil" } }))[1]]);
  for (const name of ["Dora", "Emil"]) await User.upsert({ name }, { conflictFields: ["name"] });
  const ids = (await User.findAll({ order: ["name"] })).map((user, n) => db.query("UPDATE users SET id = $1 WHERE name = $2", { bind: [n + 1, user.name] }));
  await Promise.all(ids);
  await check("posts", async () => { for (const user of await User.findAll({ order: ["id"] })) for (let n = 0; n < user.id; n += 1) await (await user.createPost({ title: `${user.name} ${n}`, score: n })).setTags(await Tag.findAll({ limit: n % 3 })); return Post.count(); });
  await check("include", async () => json((await User.findAll({ include: [{ model: Post, attributes: ["title"], include: [{ model: Tag, attributes: ["name"], through: { attributes: [] } }] }], attributes: ["name"], order: [["id", "ASC"], [Post, "title", "DESC"], [Post, Tag, "name"]] }))));
  await check("include with limit", async () => json(await User.findAndCountAll({ include: [{ model: Post, where: { score: { [Op.gt]: 0 } }, attributes: ["title"] }], limit: 2, offset: 1, order: [["name", "ASC"], [Post, "id", "ASC"]], distinct: true, attributes: ["name"] })));
  await check("separate", async () => json(await User.findAll({ include: [{ model: Post, separate: true, attributes: ["title", "userId"], limit: 1, order: [["id", "DESC"]] }], attributes: ["id"], order: ["id"] })));
  await check("group", async () => json(await Post.findAll({ attributes: ["userId", [fn("count", "*"), "n"], [fn("sum", col("score")), "total"]], group: "userId", having: where(fn("count", "*"), { [Op.gt]: 1 }), order: ["userId"], raw: true })));
  await check("aggregates", async () => [await Post.sum("score"), await Post.max("score"), await Post.min("title"), await User.count({ where: { age: 50 } })]);
  await check("subquery", async () => (await User.findAll({ where: { id: { [Op.in]: literal("(SELECT user_id FROM posts WHERE score > 1)") } }, order: ["id"] })).map((u) => u.name));
  await check("increment", async () => { await Post.increment({ score: 5 }, { where: { userId: 1 } }); return Post.sum("score", { where: { userId: 1 } }); });
  await check("update", () => User.update({ age: literal("age + 1") }, { where: { name: "Anna" }, returning: ["name", "age"] }).then(([n, rows]) => [n, rows.map((r) => [r.name, r.age])]));
  await check("error of an optimistic lock", async () => { const [a, b] = [await User.findByPk(1), await User.findByPk(1)]; await a.update({ age: 1 }); await b.update({ age: 2 }); });
  await check("paranoid", async () => { await User.destroy({ where: { name: "Emil" } }); const [a, b] = [await User.count(), await User.count({ paranoid: false })]; await User.restore({ where: { name: "Emil" } }); return [a, b, await User.count()]; });
  await check("cascade", async () => { await User.destroy({ where: { name: "Carl" }, force: true }); return Post.count(); });
  await check("raw", () => db.query("SELECT $a::int + $b::int AS n, :x AS x".replace(":x", "'x'"), { bind: { a: 1, b: 2 }, type: "SELECT" }));
  await check("replacements", () => db.query("SELECT name FROM users WHERE name IN (:names) ORDER BY name", { replacements: { names: ["Anna", "Bert"] }, type: "SELECT" }));
}

async function transactions() {
  await check("managed", async () => { await db.transaction(async (t) => { await Tag.create({ name: "in" }, { transaction: t }); await db.transaction({ transaction: t }, (n) => Tag.create({ name: "in" }, { transaction: n })).catch(() => {}); }); return Tag.count({ where: { name: "in" } }); });
  await check("rolled back", async () => { await db.transaction(async (t) => { await Tag.create({ name: "out" }, { transaction: t }); throw new Error("no"); }).catch(() => {}); return Tag.count({ where: { name: "out" } }); });
  for (const level of Object.values(Transaction.ISOLATION_LEVELS)) await check(`level ${level}`, () => db.transaction({ isolationLevel: level }, (t) => db.query("SHOW transaction_isolation", { transaction: t, plain: true })));
  await check("locks", () => db.transaction(async (t) => { await User.findAll({ where: { id: 1 }, lock: t.LOCK.UPDATE, transaction: t }); return db.transaction((o) => User.findAll({ lock: true, skipLocked: true, order: ["id"], transaction: o })).then((found) => found.map((u) => u.name)); }));
  for (const [name, run] of Object.entries({ unique: () => Tag.create({ name: "red" }), foreign: () => Post.create({ title: "x", userId: 99 }), null: () => db.query("INSERT INTO users (name) VALUES (NULL)"), long: () => All.create({ string: "x".repeat(21) }), enum: () => db.query("INSERT INTO all_types (string, mood) VALUES ('x', 'angry')"), table: () => db.query("SELECT * FROM nowhere"), validation: () => User.create({ name: "neg", age: -1 }) })) await check(`error ${name}`, run);
  await check("concurrent", async () => (await Promise.all(Array.from({ length: 20 }, (_, n) => Tag.findOrCreate({ where: { name: `same ${n % 4}` } }).then((r) => r[1])))).filter(Boolean).length);
  await check("truncate", async () => [await User.truncate({ cascade: true, restartIdentity: true }), await Post.count(), (await User.create({ name: "first" })).id < 50]);
  await check("drop", () => db.getQueryInterface().dropAllTables());
}

main(async () => { await schema(); await values(); await transactions(); await db.close(); });
