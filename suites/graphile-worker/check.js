// graphile-worker as a queue: its own migrations, jobs, retries, keys, cron, and workers at once.

const { makeWorkerUtils, run, runOnce, parseCronItems } = require("graphile-worker");
const { Logger } = require("graphile-worker");
const { Client, Pool } = require("pg");
const { check, main, url } = require("checks");

const logger = new Logger(() => (level, message) => { if (level === "error") console.error(message); });

main(async () => {
  const pool = new Pool({ connectionString: url, max: 10 });
  pool.on("error", (error) => console.error(error));
  pool.on("connect", (client) => client.on("error", (error) => console.error(error)));
  const ask = async (text, values) => (await pool.query({ text, values, rowMode: "array" })).rows;
  // What became of a job is written after the run.
  const settled = async () => {
    for (let n = 0; n < 100 && (await ask("SELECT 1 FROM graphile_worker.jobs WHERE locked_by IS NOT NULL")).length; n += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
  };
  let utils;
  const begin = async () => { utils = await makeWorkerUtils({ pgPool: pool, logger }); await utils.migrate(); };
  if (!(await check("migrate", begin))) {
    // The worker needs the statement for roles that are no superusers only.
    const query = Client.prototype.query;
    Client.prototype.query = function shortened(text, ...more) {
      const without = (sql) => sql.replace(/alter table \S+ enable row level security;/gi, "");
      return query.call(this, typeof text === "string" ? without(text) : text?.text ? Object.assign(text, { text: without(text.text) }) : text, ...more);
    };
    await ask("DROP SCHEMA IF EXISTS graphile_worker CASCADE");
    await begin();
  }
  await check("migrations", () => ask("SELECT id, breaking FROM graphile_worker.migrations ORDER BY id"));
  await check("tables", () => ask("SELECT relname, relkind FROM pg_class WHERE relnamespace = 'graphile_worker'::regnamespace AND relkind IN ('r', 'v') ORDER BY 1"));
  await check("functions", () => ask("SELECT proname, pronargs FROM pg_proc WHERE pronamespace = 'graphile_worker'::regnamespace ORDER BY 1, 2"));
  const done = [];
  const tasks = {
    add: async ({ a, b }) => { done.push(["add", a + b]); },
    fails: async (_, { job }) => { done.push(["fails", job.attempts]); throw new Error("as it should"); },
    sql: async ({ n }, { query }) => { done.push(["sql", (await query("SELECT $1::int * 2 AS n", [n])).rows[0].n]); },
    more: async (_, { addJob }) => { await addJob("add", { a: 20, b: 22 }); done.push(["more"]); },
    many: async () => {},
  };
  const once = (more = {}) => runOnce({ pgPool: pool, logger, taskList: tasks, ...more });
  await check("add job", async () => { const job = await utils.addJob("add", { a: 1, b: 2 }, { priority: 5 }); return [job.attempts, job.max_attempts, job.priority, job.is_available]; });
  await check("run once", async () => { await once(); return done.splice(0); });
  await check("by SQL", () => ask("SELECT (graphile_worker.add_job('add', json_build_object('a', 3, 'b', 4), max_attempts := 3, flags := array['f'])).max_attempts"));
  await check("add jobs", () => ask("SELECT count(*) FROM graphile_worker.add_jobs(array[row('add', '{\"a\":5,\"b\":6}', null, null, null, null, 2, null)::graphile_worker.job_spec, row('sql', '{\"n\":7}', 'q', null, null, null, 1, null)::graphile_worker.job_spec])"));
  await check("ran", async () => { await once(); return done.splice(0).sort(); });
  await check("fails", async () => { await utils.addJob("fails", {}, { maxAttempts: 2 }); await once(); await settled(); return [done.splice(0), await ask("SELECT attempts, last_error LIKE '%should%', run_at > now(), locked_by FROM graphile_worker.jobs")]; });
  await check("fails for good", async () => { await ask("UPDATE graphile_worker._private_jobs SET run_at = now()"); await once(); await settled(); return [done.splice(0), await ask("SELECT attempts, max_attempts FROM graphile_worker.jobs")]; });
  await check("permanently fail and reschedule", async () => { const [[id]] = await ask("SELECT id FROM graphile_worker.jobs"); const again = await utils.rescheduleJobs([id], { attempts: 0, runAt: new Date("2030-01-01") }); const failed = await utils.permanentlyFailJobs([id], "enough"); const gone = await utils.completeJobs([id]); return [again.map((j) => [j.attempts, j.run_at]), failed.map((j) => [j.attempts, j.last_error]), gone.length]; });
  await check("job keys", async () => { for (const [n, mode] of [[1, "replace"], [2, "replace"], [3, "preserve_run_at"], [4, "unsafe_dedupe"]]) await utils.addJob("add", { a: n, b: 0 }, { jobKey: "k", jobKeyMode: mode, runAt: new Date(2030 + n, 0, 1) }); return ask("SELECT j.key, p.payload, j.revision, j.run_at FROM graphile_worker.jobs j JOIN graphile_worker._private_jobs p USING (id)"); });
  await check("remove job", () => ask("SELECT (graphile_worker.remove_job('k')).key"));
  await check("a job adds one", async () => { await utils.addJob("more"); await once(); return done.splice(0); });
  await check("forbidden flags", async () => { await utils.addJob("add", { a: 1, b: 1 }, { flags: ["slow"] }); await once({ forbiddenFlags: ["slow"] }); const left = done.length; await once(); return [left, done.splice(0)]; });
  await check("queues", async () => { for (let n = 0; n < 5; n += 1) await utils.addJob("add", { a: n, b: 0 }, { queueName: "serial" }); for (let n = 0; n < 20 && done.length < 5; n += 1) await once({ concurrency: 4 }); return done.splice(0); });
  await check("many workers", async () => {
    const n = process.env.LONG ? 5000 : 500;
    await ask("SELECT count(graphile_worker.add_job('many', json_build_object('n', n))) FROM generate_series(1, $1::int) n", [n]);
    const seen = new Map();
    const list = { many: async (payload, { job }) => { seen.set(job.id, (seen.get(job.id) ?? 0) + 1); } };
    for (let round = 0; round < 20 && seen.size < n; round += 1) await Promise.all([1, 2, 3].map(() => runOnce({ pgPool: pool, logger, taskList: list, concurrency: 3 })));
    return [seen.size, Math.max(...seen.values()), await ask("SELECT count(*) FROM graphile_worker.jobs WHERE task_identifier = 'many'")];
  });
  await check("by notification", async () => {
    let heard;
    const waited = new Promise((resolve) => { heard = resolve; });
    const runner = await run({ pgPool: pool, logger, noHandleSignals: true, pollInterval: 60000, taskList: { now: async ({ x }) => heard(x) }, crontab: "0 4 * * * add ?fill=1d {a:1}" });
    await new Promise((resolve) => { setTimeout(resolve, 500); });
    await utils.addJob("now", { x: "heard" });
    const said = await Promise.race([waited, new Promise((resolve) => { setTimeout(() => resolve("nothing"), 10000); })]);
    await runner.stop();
    return [said, await ask("SELECT identifier FROM graphile_worker._private_known_crontabs")];
  });
  await check("cleanup", () => utils.cleanup({ tasks: ["GC_TASK_IDENTIFIERS", "GC_JOB_QUEUES", "DELETE_PERMAFAILED_JOBS"] }));
  await check("force unlock", () => utils.forceUnlockWorkers(["none"]));
  await check("drop", () => ask("DROP SCHEMA graphile_worker CASCADE"));
  await utils.release();
  await pool.end();
});
