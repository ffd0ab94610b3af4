// Page 1: what does each index cost, and what is it good for?
const quoted = (name) => (/^[a-z_][a-z0-9_$]*$/.test(name) ? name : '"' + name.replaceAll('"', '""') + '"');
const verdict = (index) => {
  const [scans, rows] = [num(index.scans), num(index.rows)];
  const spared = scans > 0 ? num(index.rows_not_read) / scans : 0;
  if (index.advice === "keeps a rule") return ["good", "Keep", "Refuses keys that are there twice. No read used it yet."];
  if (index.advice === "never used") {
    return ["bad", "Drop?", `${count(rows)} rows cost it, and no read since the start used it.`,
      `DROP INDEX ${quoted(index.schema_name)}.${quoted(index.index_name)};`];
  }
  if (scans === 0) return ["soft", "Too early", "No read yet, and too few rows to judge."];
  const percentRead = num(index.entries_read) / (num(index.entries_read) + num(index.rows_not_read));
  if (spared < 100) return ["warn", "Little use", "A read spares fewer than 100 rows by it."];
  return ["good", "Keep", `A read spares ${count(Math.round(spared))} rows, and takes ${percent(percentRead)} of the table.`];
};
// Advice takes up to some seconds: it is asked for.
let advised = null;
const askAdvice = async (again) => {
  advised = { busy: true };
  again();
  try {
    const [rows] = await look(["select kind, table_name, sql, bytes_on_disk, cpu_ns_per_insert, saved_ms, reason from onlap.advise() order by saved_ms desc nulls last"]);
    advised = { rows };
  } catch (e) { advised = { error: e }; }
  again();
};
const KINDS = { unused: "Drop", duplicate: "Drop", redundant: "Drop", missing: "Create", covering: "Make covering", unfinished: "Not all looked at" };
const advice = (again) => h("section", null, h("div", { class: "row" }, h("h2", null, "Advice"),
  h("button", { type: "button", class: "push", disabled: Boolean(advised && advised.busy), onclick: () => askAdvice(again) }, advised && advised.busy ? "Planning…" : "Ask for advice")),
advised === null ? empty("Which indexes are not needed, which are missing, and which would answer alone with a column more: by the statements since the start.")
  : advised.error ? errorNote(advised.error) : !advised.rows ? null
    : advised.rows.length === 0 ? empty("Nothing is advised.") : table({
      columns: [
        { title: "What", class: "name", of: (r) => r.kind, text: (kind, r) => [KINDS[kind] || kind, r.table_name && h("span", { class: "under" }, `on ${r.table_name}`)] },
        { title: "On disk", n: true, of: (r) => num(r.bytes_on_disk), text: bytes },
        { title: "CPU per row", n: true, of: (r) => num(r.cpu_ns_per_insert), text: ns },
        { title: "Saves", n: true, of: (r) => num(r.saved_ms), text: ms },
        { title: "SQL", class: "verdict wide", text: (_, r) => [r.sql && code(r.sql + ";"), h("span", { class: "under" }, r.reason)] },
      ], rows: advised.rows }));

const ledgerOrder = { at: 7, down: true };
const ledger = {
  id: "ledger", title: "Index ledger", nav: "Indexes",
  lead: "What each index costs for every row that comes in, and what reads get for it. Counted since the database was opened.",
  async load(signal) {
    const [indexes, [all]] = await look([
      "select * from onlap_stat.indexes order by schema_name, table_name, index_name",
      "select count(*) as tables, coalesce(sum(index_bytes), 0) as index_bytes, clock_timestamp() as at from onlap_stat.tables",
    ], signal);
    return { indexes, all, now: Date.parse(all.at.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00")) };
  },
  draw({ indexes, all, now }, again) {
    if (indexes.length === 0) {
      return [h("section", null, empty("There is no index in this database yet. Make a table with a key, and an index:"),
        empty(code("CREATE TABLE events (id bigint PRIMARY KEY, device int, at timestamptz);")),
        empty(code("CREATE INDEX events_device ON events (device);")),
        empty("As soon as rows come in their costs stand here, and as soon as queries come, what they are good for."))];
    }
    const sum = (name) => indexes.reduce((total, index) => total + (num(index[name]) || 0), 0);
    const unused = indexes.filter((index) => index.advice === "never used");
    // Of each table the rows that its indexes were told of, once.
    const told = new Map();
    for (const index of indexes) told.set(index.table_oid, Math.max(told.get(index.table_oid) || 0, num(index.rows)));
    const perRow = sum("cpu_ns") / [...told.values()].reduce((total, rows) => total + rows, 0);
    const split = (pair) => [pair[0], pair[1]];
    return [
      tiles([
        ["Indexes", whole(indexes.length), `on ${all.tables} table${all.tables === "1" ? "" : "s"}`],
        ["CPU of all, per row", ...split(nsOf(Number.isFinite(perRow) ? perRow : null))],
        ["On disk", ...split(bytesOf(num(all.index_bytes)))],
        ["Reads answered", ...split(countOf(sum("scans")))],
        ["Rows not read", ...split(countOf(sum("rows_not_read")))],
        ["Never used", whole(unused.length)],
      ]),
      h("section", null, h("h2", null, "Each index"), table({
        state: ledgerOrder,
        groups: [{ title: "", span: 1 }, { title: "Good for", span: 4, edge: true }, { title: "Costs", span: 5, edge: true }, { title: "", span: 1, edge: true }],
        columns: [
          { title: "Index", class: "name", of: (i) => i.table_name + " " + i.index_name,
            text: (_, i) => [i.index_name, h("span", { class: "under" }, `on ${i.schema_name}.${i.table_name}`)] },
          { title: "Reads", n: true, edge: true, of: (i) => num(i.scans), text: count },
          { title: "Rows not read", n: true, of: (i) => num(i.rows_not_read), text: count },
          { title: "Median", n: true, of: (i) => num(i.p50_ms), text: ms },
          { title: "Last use", n: true, of: (i) => i.last_use, text: (at) => ago(at, now) },
          { title: "CPU per row", n: true, edge: true, of: (i) => num(i.cpu_ns_per_row), text: ns },
          { title: "Written per row", n: true, of: (i) => num(i.bytes_per_row), text: bytes },
          { title: "On disk", n: true, of: (i) => num(i.bytes_on_disk), text: bytes },
          { title: "Share of merges", n: true, of: (i) => num(i.merge_share), text: percent },
          { title: "In cache", n: true, of: (i) => num(i.cached_bytes), text: bytes },
          { title: "Verdict", class: "verdict wide edge", of: (i) => verdict(i)[1], text: (_, i) => {
            const [kind, word, why, sql] = verdict(i);
            return [h("span", { class: "tag " + kind }, word), h("span", { class: "under" }, why, sql && [h("br"), code(sql)])];
          } },
        ],
        rows: indexes,
      }), h("p", { class: "chart-note" }, "CPU and bytes are those of sorting, flushes, merges and builds, for each row that left memory. Rows not read are those that a scan of the table would have looked at besides. The median is of the statements that read by the index.")),
      advice(again),
    ];
  },
};
