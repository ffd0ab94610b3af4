// Page 2: how fast, how steady, and what holds writers back?
const samples = [];
const KEPT = 600;
// What the database kept of the time before: a sample of each ten seconds, put together to some hundred points.
const SPANS = [["5 minutes", 300, 10], ["1 hour", 3600, 10], ["24 hours", 86400, 300]];
const past = { span: 0, rows: [], at: 0, of: null };
const HISTORY_EVERY = 30;
const pastOf = ([, seconds, step]) => `select floor(extract(epoch from at) / ${step}) * ${step} + ${step} as at, \
sum(rows) / sum(seconds) as rows, sum(commits) / sum(seconds) as commits, sum(statements) / sum(seconds) as calls, \
sum(bytes_written) / sum(seconds) as bytes, avg(p50_us) as p50, max(p99_us) as p99, max(longest_us) as longest, \
sum(stalled_us) / sum(seconds) as held, max(merge_debt_bytes) as debt, max(memory_bytes) as memory, max(disk_bytes) as disk \
from onlap_stat.history where at > clock_timestamp() - interval '${seconds} seconds' group by 1 order by 1`;
const recall = async (signal) => {
  const [wanted, now] = [SPANS[past.span], Date.now() / 1000];
  const of = state.database + wanted[0];
  if (past.of === of && now - past.at < HISTORY_EVERY) return;
  const [rows] = await look([pastOf(wanted)], signal);
  Object.assign(past, { rows, of, at: now });
};
// A line: what was kept up to the first look, then what was looked at. Where nothing was kept for long there is no line.
const line = (name, key, live) => {
  const first = live.length ? live[0][0] : Infinity;
  const points = [];
  for (const row of past.rows) {
    const at = Number(row.at);
    if (at >= first) break;
    if (points.length && at - points[points.length - 1][0] > 3 * SPANS[past.span][2]) points.push([at - 1, NaN]);
    points.push([at, row[key] === null ? NaN : Number(row[key])]);
  }
  return { name, points: points.concat(live) };
};
const quantile = (counts, share) => {
  const all = counts.reduce((total, [, n]) => total + n, 0);
  let passed = 0;
  for (const [below, n] of counts) {
    passed += n;
    // The middle of a bucket that is a quarter of a doubling wide.
    if (n > 0 && passed >= all * share) return below / 2 ** 0.125;
  }
  return NaN;
};
const now = (name) => samples.map((sample) => [sample.at, sample[name]]);
const between = (name) => samples.slice(1).map((now, at) => {
  const before = samples[at];
  return [now.at, Math.max(0, (now[name] - before[name]) / Math.max(0.001, now.at - before.at))];
});
const commitTimes = (share) => samples.slice(1).map((now, at) => {
  const before = new Map(samples[at].times);
  return [now.at, quantile(now.times.map(([below, n]) => [below, n - (before.get(below) || 0)]), share)];
});
const sampled = async (signal) => {
  await recall(signal);
  const [[commits], times, [tables], [statements], [writes], stalls, debts, owed, goals, [memory], [disk]] = await look([
    "select *, extract(epoch from clock_timestamp()) as at from onlap_stat.commits",
    "select below_us, commits from onlap_stat.commit_times order by below_us",
    "select coalesce(sum(row_ids), 0) as row_ids from onlap_stat.tables",
    "select coalesce(sum(calls), 0) as calls from onlap_stat.statements",
    "select sum(bytes) as bytes from onlap_stat.writes",
    "select * from onlap_stat.stalls",
    "select * from onlap_stat.debts",
    "select table_name, schema_name, dead_rows, dead_rows_limit, dead_entries, dead_entries_limit, changes, changes_limit, pending_rows, pending_rows_limit from onlap_stat.tables order by dead_entries desc limit 50",
    "select * from onlap_stat.goals",
    "select sum(used_bytes) as bytes from onlap_stat.memory",
    "select sum(bytes) as bytes from onlap_stat.disk",
  ], signal);
  const sample = {
    at: Number(commits.at), rows: Number(tables.row_ids), commits: Number(commits.commits), calls: Number(statements.calls),
    bytes: Number(writes.bytes), memory: Number(memory.bytes), disk: Number(disk.bytes),
    held: stalls.reduce((total, stall) => total + Number(stall.total_us), 0), debt: Number(debts[0].bytes), times: times.map((t) => [Number(t.below_us), Number(t.commits)]),
  };
  // A database that was opened anew begins anew.
  if (samples.length && samples[samples.length - 1].commits > sample.commits) samples.length = 0;
  if (!samples.length || sample.at > samples[samples.length - 1].at) samples.push(sample);
  if (samples.length > KEPT) samples.shift();
  return { commits, stalls, debts, owed, goals };
};
const owedOf = (table) => [["dead rows", table.dead_rows, table.dead_rows_limit], ["dead index entries", table.dead_entries, table.dead_entries_limit],
  ["column changes", table.changes, table.changes_limit], ["unresolved rows", table.pending_rows, table.pending_rows_limit]]
  .filter(([, now]) => Number(now) > 0).map(([what, now, limit]) => ({ what: `${table.schema_name}.${table.table_name}: ${what}`, now: Number(now), limit: Number(limit), text: count }));
const goalText = (n, unit) => (unit === "bytes" ? bytes(n) : unit === "seconds" ? us(1e6 * n) : percent(n));
const gauge = (now, limit, name) => h("meter", { min: 0, max: Math.max(limit, 1), high: limit * 0.8, optimum: 0, value: Math.min(now, limit), "aria-label": `${name}: ${percent(limit ? now / limit : 0)} of the limit` });
const rates = {
  id: "rates", title: "Rates and stalls", nav: "Rates",
  lead: "What came in, how long commits took, and what held writers back. Lines go back a day, over restarts; sums are since the database was opened.",
  load: sampled,
  draw({ commits, stalls, debts, owed, goals }, again) {
    const held = stalls.reduce((total, stall) => total + Number(stall.total_us), 0);
    const seconds = SPANS[past.span][1];
    const per = (text) => (n) => text(n) + "/s";
    const all = debts.map((debt) => ({ what: debt.name, now: Number(debt.bytes), limit: Number(debt.limit_bytes), text: bytes })).concat(owed.flatMap(owedOf));
    return [
      tiles([
        ["Commits", ...countOf(Number(commits.commits))],
        ["Median commit", ...nsOf(commits.p50_us === null ? NaN : 1000 * commits.p50_us)],
        ["99th percentile", ...nsOf(commits.p99_us === null ? NaN : 1000 * commits.p99_us)],
        ["Longest commit", ...nsOf(commits.longest_us === null ? NaN : 1000 * commits.longest_us)],
        ["Writers held back", ...nsOf(1000 * held)],
      ]),
      h("div", { class: "row", role: "group", "aria-label": "How far back" }, SPANS.map(([name], at) => h("button", {
        type: "button", class: at === past.span ? "first" : null, "aria-pressed": String(at === past.span),
        onclick: () => { past.span = at; refresh(); } }, name))),
      h("div", { class: "grid" },
        lines({ title: "Rows that came in", series: [line("rows", "rows", between("rows"))], text: per(count), seconds }),
        lines({ title: "Commits and statements", series: [line("commits", "commits", between("commits")), line("statements", "calls", between("calls"))], text: per(count), seconds }),
        lines({ title: "Time of commits", series: [line("median", "p50", commitTimes(0.5)), line("99th percentile", "p99", commitTimes(0.99)), line("longest", "longest", commitTimes(1))], text: us, note: "Within a tenth, between two looks.", seconds }),
        lines({ title: "Bytes written", series: [line("all files", "bytes", between("bytes"))], text: per(bytes), base: 1024, seconds }),
        lines({ title: "Writers held back", series: [line("together", "held", between("held"))], text: (n) => us(n) + " a second", note: "Of all writers: more than a second a second where several wait.", seconds }),
        lines({ title: "Debt of merges", series: [line("owed", "debt", now("debt"))], text: bytes, base: 1024, seconds }),
        lines({ title: "Memory in use", series: [line("all parts", "memory", now("memory"))], text: bytes, base: 1024, seconds }),
        lines({ title: "On disk", series: [line("all files", "disk", now("disk"))], text: bytes, base: 1024, seconds })),
      h("section", null, h("h2", null, "Goals"), table({
        columns: [
          { title: "Asked for", class: "name", of: (r) => r.name },
          { title: "At most", n: true, of: (r) => num(r.asked), text: (n, r) => goalText(n, r.unit) },
          { title: "Measured", n: true, of: (r) => num(r.measured), text: (n, r) => goalText(n, r.unit) },
          { title: "Met", of: (r) => r.met, text: (met) => h("span", { class: "tag " + (met === "t" ? "good" : "bad") }, met === "t" ? "Met" : "Missed") },
          { title: "What would give first", of: (r) => r.limiting },
        ], rows: goals }), h("p", { class: "chart-note" }, "Limits that settings of the server and options of the database set.")),
      h("div", { class: "grid" },
        h("section", null, h("h2", null, "Stalls, by reason"), table({
          columns: [
            { title: "Writers waited for", class: "name", of: (r) => r.reason },
            { title: "Times", n: true, of: (r) => num(r.count), text: whole },
            { title: "All together", n: true, of: (r) => num(r.total_us), text: us },
            { title: "Longest", n: true, of: (r) => num(r.longest_us), text: us },
          ], rows: stalls }),
        held === 0 && empty("No writer was held back since the database was opened.")),
        h("section", null, h("h2", null, "Debt against its limit"), table({
          columns: [
            { title: "Work put off", class: "name", of: (r) => r.what },
            { title: "Now", n: true, of: (r) => r.now, text: (n, r) => r.text(n) },
            { title: "Limit", n: true, of: (r) => r.limit, text: (n, r) => r.text(n) },
            { title: "Share", of: (r) => r.now / Math.max(1, r.limit), text: (_, r) => gauge(r.now, r.limit, r.what) },
          ], rows: all })))];
  },
};
