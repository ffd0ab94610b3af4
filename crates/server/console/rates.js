// Page 2: how fast, how steady, and what holds writers back?
const samples = [];
const KEPT = 600;
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
const between = (name) => samples.slice(1).map((now, at) => {
  const before = samples[at];
  return [now.at, Math.max(0, (now[name] - before[name]) / Math.max(0.001, now.at - before.at))];
});
const commitTimes = (share) => samples.slice(1).map((now, at) => {
  const before = new Map(samples[at].times);
  return [now.at, quantile(now.times.map(([below, n]) => [below, n - (before.get(below) || 0)]), share)];
});
const sampled = async (signal) => {
  const [[commits], times, [tables], [statements], [writes], stalls, debts, owed] = await look([
    "select *, extract(epoch from clock_timestamp()) as at from onlap_stat.commits",
    "select below_us, commits from onlap_stat.commit_times order by below_us",
    "select coalesce(sum(row_ids), 0) as row_ids from onlap_stat.tables",
    "select coalesce(sum(calls), 0) as calls from onlap_stat.statements where query not like '%onlap_stat.%'",
    "select sum(bytes) as bytes from onlap_stat.writes",
    "select * from onlap_stat.stalls",
    "select * from onlap_stat.debts",
    "select table_name, schema_name, dead_rows, dead_rows_limit, dead_entries, dead_entries_limit, changes, changes_limit, pending_rows, pending_rows_limit from onlap_stat.tables order by dead_entries desc limit 50",
  ], signal);
  const sample = {
    at: Number(commits.at), rows: Number(tables.row_ids), commits: Number(commits.commits), calls: Number(statements.calls),
    bytes: Number(writes.bytes), times: times.map((t) => [Number(t.below_us), Number(t.commits)]),
  };
  // A database that was opened anew begins anew.
  if (samples.length && samples[samples.length - 1].commits > sample.commits) samples.length = 0;
  if (!samples.length || sample.at > samples[samples.length - 1].at) samples.push(sample);
  if (samples.length > KEPT) samples.shift();
  return { commits, stalls, debts, owed };
};
const owedOf = (table) => [["dead rows", table.dead_rows, table.dead_rows_limit], ["dead index entries", table.dead_entries, table.dead_entries_limit],
  ["column changes", table.changes, table.changes_limit], ["unresolved rows", table.pending_rows, table.pending_rows_limit]]
  .filter(([, now]) => Number(now) > 0).map(([what, now, limit]) => ({ what: `${table.schema_name}.${table.table_name}: ${what}`, now: Number(now), limit: Number(limit), text: count }));
const gauge = (now, limit, name) => h("meter", { min: 0, max: Math.max(limit, 1), high: limit * 0.8, optimum: 0, value: Math.min(now, limit), "aria-label": `${name}: ${percent(limit ? now / limit : 0)} of the limit` });
const rates = {
  id: "rates", title: "Rates and stalls", nav: "Rates",
  lead: "What came in, how long commits took, and what held writers back. Lines begin when this page is opened; sums are since the database was opened.",
  load: sampled,
  draw({ commits, stalls, debts, owed }) {
    const held = stalls.reduce((total, stall) => total + Number(stall.total_us), 0);
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
      h("div", { class: "grid" },
        lines({ title: "Rows that came in", series: [{ name: "rows", points: between("rows") }], text: per(count) }),
        lines({ title: "Commits and statements", series: [{ name: "commits", points: between("commits") }, { name: "statements", points: between("calls") }], text: per(count) }),
        lines({ title: "Time of commits", series: [{ name: "median", points: commitTimes(0.5) }, { name: "99th percentile", points: commitTimes(0.99) }, { name: "longest", points: commitTimes(1) }], text: us, note: "Within a tenth, between two looks." }),
        lines({ title: "Bytes written", series: [{ name: "all files", points: between("bytes") }], text: per(bytes), base: 1024 })),
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
