// Prisma's client over node-postgres. The engine that creates schemas is a download, which is no package: the tables are made by the SQL that it would write.

const fs = require("node:fs");
const path = require("node:path");
const { execFileSync } = require("node:child_process");
const { Client } = require("pg");
const { PrismaPg } = require("@prisma/adapter-pg");
const { check: shown, main, url } = require("checks");

const SCHEMA = `
generator client {
  provider = "prisma-client-js"
  output   = "./made"
}
datasource db {
  provider = "postgresql"
}
enum Mood {
  SAD
  HAPPY
}
model Person {
  id Int @id @default(autoincrement())
  name String @unique
  mood Mood?
  more Json?
  tags String[]
  made DateTime @default(now())
  amount Decimal @default(0) @db.Decimal(12,2)
  notes Note[]
}
model Note {
  id String @id @default(uuid()) @db.Uuid
  body String
  person Person @relation(fields: [personId], references: [id], onDelete: Cascade)
  personId Int
}
`;

const TABLES = `
CREATE TYPE "Mood" AS ENUM ('SAD', 'HAPPY');
CREATE TABLE "Person" ("id" SERIAL NOT NULL, "name" TEXT NOT NULL, "mood" "Mood", "more" JSONB, "tags" TEXT[], "made" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "amount" DECIMAL(12,2) NOT NULL DEFAULT 0, CONSTRAINT "Person_pkey" PRIMARY KEY ("id"));
CREATE TABLE "Note" ("id" UUID NOT NULL, "body" TEXT NOT NULL, "personId" INTEGER NOT NULL, CONSTRAINT "Note_pkey" PRIMARY KEY ("id"));
CREATE UNIQUE INDEX "Person_name_key" ON "Person"("name");
ALTER TABLE "Note" ADD CONSTRAINT "Note_personId_fkey" FOREIGN KEY ("personId") REFERENCES "Person"("id") ON DELETE CASCADE ON UPDATE CASCADE;
`;

const made = new Date("2024-01-02T03:04:05.678Z");

// Numbers and moments are classes of Prisma's own.
const plain = (value) => JSON.parse(JSON.stringify(value ?? null, (_, each) => (typeof each === "bigint" ? `${each}n` : each)));

// Prisma has codes of its own, with what the driver said next to them.
async function check(name, run) {
  await shown(name, async () => {
    try {
      return plain(await run());
    } catch (error) {
      const said = error.meta?.driverAdapterError?.cause;
      if (!error.code) throw error;
      return ["error", error.code, said?.originalCode, said?.originalMessage, said?.constraint];
    }
  });
}

async function queries(db, Prisma) {
  await check("create", () => db.person.create({ data: { name: "Ada", mood: "HAPPY", more: { a: [1, { b: 2 }] }, tags: ["x", "y"], made, amount: "12.34", notes: { create: [{ id: "00000000-0000-0000-0000-000000000001", body: "one" }, { id: "00000000-0000-0000-0000-000000000002", body: "two" }] } }, include: { notes: true } }));
  await check("createMany", () => db.person.createMany({ data: [1, 2, 3, 4, 5].map((n) => ({ name: "p" + n, made, amount: n, mood: n % 2 ? "SAD" : null, tags: ["t" + n] })), skipDuplicates: true }));
  await check("createManyAndReturn", () => db.person.createManyAndReturn({ data: [{ name: "r1", made }, { name: "r2", made }], select: { id: true, name: true } }));
  await check("findMany", () => db.person.findMany({ orderBy: { name: "asc" } }));
  await check("where", () => db.person.findMany({ where: { OR: [{ name: { contains: "D", mode: "insensitive" } }, { amount: { gt: 3 } }, { tags: { has: "t1" } }, { mood: { in: ["SAD"] } }], NOT: { name: { startsWith: "r" } } }, orderBy: [{ mood: { sort: "asc", nulls: "first" } }, { id: "desc" }], select: { name: true, mood: true } }));
  await check("json", () => db.person.findMany({ where: { more: { path: ["a", "1", "b"], equals: 2 } }, select: { name: true } }));
  await check("tags", () => db.person.findMany({ where: { tags: { hasSome: ["x", "t2"] } }, select: { name: true }, orderBy: { id: "asc" } }));
  await check("relations", () => db.person.findMany({ where: { notes: { some: { body: { endsWith: "wo" } } } }, include: { notes: { orderBy: { body: "desc" }, take: 1 }, _count: { select: { notes: true } } } }));
  await check("none", () => db.person.count({ where: { notes: { none: {} } } }));
  await check("pages", () => db.person.findMany({ skip: 1, take: 2, cursor: { name: "p2" }, orderBy: { name: "asc" }, select: { name: true } }));
  await check("distinct", () => db.person.findMany({ distinct: ["mood"], select: { mood: true }, orderBy: { mood: "asc" } }));
  await check("groupBy", () => db.person.groupBy({ by: ["mood"], _count: { _all: true }, _sum: { amount: true }, _avg: { amount: true }, having: { amount: { _sum: { gte: 0 } } }, orderBy: { mood: "asc" } }));
  await check("aggregate", () => db.person.aggregate({ _min: { amount: true, made: true }, _max: { name: true }, _count: { mood: true } }));
  await check("update", () => db.person.update({ where: { name: "Ada" }, data: { amount: { increment: 1.5 }, tags: { push: "z" }, notes: { updateMany: { where: { body: "one" }, data: { body: "uno" } } } }, include: { notes: { orderBy: { id: "asc" } } } }));
  await check("updateMany", () => db.person.updateMany({ where: { mood: null }, data: { mood: "HAPPY" } }));
  await check("updateManyAndReturn", () => db.person.updateManyAndReturn({ where: { name: { startsWith: "r" } }, data: { amount: 7 }, select: { name: true, amount: true } }));
  await check("upsert", () => db.person.upsert({ where: { name: "Ada" }, create: { name: "Ada", made }, update: { mood: "SAD" }, select: { mood: true } }));
  await check("upsert new", () => db.person.upsert({ where: { name: "New" }, create: { name: "New", made }, update: {}, select: { name: true } }));
  await check("error unique", () => db.person.create({ data: { name: "Ada" } }));
  await check("error foreign", () => db.note.create({ data: { body: "x", personId: 999 } }));
  await check("error missing", () => db.person.update({ where: { id: 999 }, data: { name: "x" } }));
  await check("error transaction", () => db.$transaction(async (tx) => { await tx.person.update({ where: { name: "Ada" }, data: { amount: 0 } }); throw new Error("back"); }, { isolationLevel: "Serializable" }));
  await check("batch", () => db.$transaction([db.person.count(), db.note.count()]));
  await check("raw", () => db.$queryRaw`SELECT name, amount, made, tags, more, mood, now() IS NOT NULL AS n, 1::bigint AS big, ${"x"}::text AS t, ARRAY[1,2] AS l FROM "Person" WHERE name = ANY(${["Ada", "p1"]}) ORDER BY id`);
  await check("execute", () => db.$executeRaw(Prisma.sql`UPDATE "Person" SET amount = amount + ${1} WHERE name LIKE ${"p%"}`));
  await check("delete", () => db.person.delete({ where: { name: "Ada" }, select: { name: true } }));
  await check("cascade", () => db.note.count());
  await check("deleteMany", () => db.person.deleteMany({ where: { name: { in: ["p1", "p2"] } } }));
}

main(async () => {
  const folder = process.env.FOLDER;
  fs.symlinkSync(process.env.MODULES, path.join(folder, "node_modules"));
  fs.writeFileSync(path.join(folder, "schema.prisma"), SCHEMA);
  // The command wants to know of an engine that it does not start.
  const environment = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true", CHECKPOINT_DISABLE: "1" };
  execFileSync("node", [path.join(process.env.MODULES, "prisma/build/index.js"), "generate", "--schema", "schema.prisma"], { cwd: folder, env: environment, stdio: ["ignore", 2, 2] });
  const client = new Client(url);
  await client.connect();
  await client.query(TABLES);
  await client.end();
  const { PrismaClient, Prisma } = require(path.join(folder, "made"));
  const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  await queries(db, Prisma);
  await db.$disconnect();
});
