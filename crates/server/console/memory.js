// Page 5: where is the memory, what lies on the disk, and how fast does it wear?
let ratedTb = "";
const parts = (title, rows, of) => {
  const all = rows.reduce((total, row) => total + of(row), 0);
  return [h("h2", null, title), h("div", { class: "stack", "aria-hidden": "true" }, rows.map((row, at) => {
    const part = h("i", { class: "c" + (at % 7) });
    part.style.width = (100 * of(row)) / Math.max(1, all) + "%";
    return part;
  }))];
};
const memoryPage = {
  id: "memory", title: "Memory and disk", nav: "Memory",
  lead: "Parts of the memory budget add up to it. Every byte on disk and every byte ever written has a purpose, and these add up too.",
  async load(signal) {
    const [memory, disk, writes, [up], tables, copies] = await look([
      "select * from onlap_stat.memory", "select * from onlap_stat.disk", "select * from onlap_stat.writes",
      "select extract(epoch from clock_timestamp() - pg_postmaster_start_time()) as seconds from onlap_stat.commits",
      "select schema_name, table_name, segment_bytes, index_bytes, mark_bytes, memtable_bytes, row_ids from onlap_stat.tables order by segment_bytes + index_bytes desc limit 100",
      "select * from onlap_stat.replication order by at desc limit 20",
    ], signal);
    return { memory, disk, writes, seconds: Number(up.seconds), tables, copies };
  },
  draw({ memory, disk, writes, seconds, tables, copies }, again) {
    const sum = (rows, name) => rows.reduce((total, row) => total + (num(row[name]) || 0), 0);
    const [used, limit, onDisk, written, ever] = [sum(memory, "used_bytes"), sum(memory, "limit_bytes"), sum(disk, "bytes"), sum(writes, "bytes"), sum(writes, "bytes_ever")];
    const perDay = (86400 * written) / Math.max(60, seconds);
    const row = (name) => num((writes.find((w) => w.purpose === name) || {}).bytes) || 0;
    const total = (name, ...values) => h("p", { class: "chart-note" }, `${name}: ${values.join(", ")}`);
    return [
      tiles([
        ["Memory in use", ...bytesOf(used)], ["Of the budget", ...bytesOf(limit)], ["On disk", ...bytesOf(onDisk)],
        ["Written since the start", ...bytesOf(written)], ["A day at this rate", ...bytesOf(perDay)],
      ]),
      h("div", { class: "grid" },
        h("section", null, parts("Memory", memory, (m) => num(m.used_bytes)), table({
          columns: [
            { title: "Part", class: "name", of: (r) => r.part },
            { title: "In use", n: true, of: (r) => num(r.used_bytes), text: bytes },
            { title: "Limit", n: true, of: (r) => num(r.limit_bytes), text: bytes },
            { title: "Share", of: (r) => num(r.used_bytes) / Math.max(1, num(r.limit_bytes)), text: (_, r) => gauge(num(r.used_bytes), num(r.limit_bytes), r.part) },
          ], rows: memory }), total("Sum", `${bytes(used)} in use`, `${bytes(limit)} in all`)),
        h("section", null, parts("On disk", disk, (d) => num(d.bytes)), table({
          columns: [
            { title: "Part", class: "name", of: (r) => r.part },
            { title: "Bytes", n: true, of: (r) => num(r.bytes), text: bytes },
            { title: "Share", n: true, of: (r) => num(r.bytes) / Math.max(1, onDisk), text: percent },
          ], rows: disk }), total("Sum", bytes(onDisk)))),
      h("div", { class: "grid" },
        h("section", null, parts("Written", writes, (w) => num(w.bytes)), table({
          columns: [
            { title: "Purpose", class: "name", of: (r) => r.purpose },
            { title: "Since the start", n: true, of: (r) => num(r.bytes), text: bytes },
            { title: "Ever", n: true, of: (r) => num(r.bytes_ever), text: bytes },
            { title: "CPU", n: true, of: (r) => num(r.cpu_ns), text: ns },
          ], rows: writes }), total("Sum", `${bytes(written)} since the start`, `${bytes(ever)} ever`)),
        h("section", null, h("h2", null, "Wear"),
          h("p", null, `At the rate since the start a drive gets ${bytes(perDay)} a day from Onlap.`),
          row("segments") > 0 ? h("p", null, `For each byte of rows in segments, ${digits(written / row("segments"))} bytes were written in all: the log, indexes and merges too.`) : empty("No rows have left memory since the start."),
          h("form", { class: "row", onsubmit: (e) => e.preventDefault() }, h("label", { for: "rated" }, "Rated life of the drive, in TB written"),
            h("input", { id: "rated", inputmode: "decimal", size: 8, value: ratedTb, placeholder: "600", oninput: (e) => { ratedTb = e.target.value; const at = $("years"); show(at, document.createTextNode(lasts())); } })),
          h("p", { id: "years", class: "chart-note", "aria-live": "polite" }, lasts()),
          h("p", { class: "chart-note" }, "What the drive itself says: ", code("smartctl --all /dev/… | onlap wear -")))),
      h("section", null, h("h2", null, "Tables"), tables.length === 0 ? empty("There is no table in this database yet.") : table({
        columns: [
          { title: "Table", class: "name", of: (r) => `${r.schema_name}.${r.table_name}` },
          { title: "Rows ever", n: true, of: (r) => num(r.row_ids), text: whole },
          { title: "Rows on disk", n: true, of: (r) => num(r.segment_bytes), text: bytes },
          { title: "Indexes", n: true, of: (r) => num(r.index_bytes), text: bytes },
          { title: "Marks", n: true, of: (r) => num(r.mark_bytes), text: bytes },
          { title: "In memory", n: true, of: (r) => num(r.memtable_bytes), text: bytes },
        ], rows: tables, state: memoryPage.order })),
      copies.length > 0 && h("section", null, h("h2", null, "Copies"), table({
        columns: [
          { title: "Kind", class: "name", of: (r) => r.kind, text: (kind, r) => [kind, r.name && h("span", { class: "under" }, r.name)] },
          { title: "State", of: (r) => r.state, text: (text, r) => [text, r.error && h("span", { class: "under" }, r.error)] },
          { title: "At", of: (r) => r.at },
          { title: "Commit", n: true, of: (r) => num(r.commit_number), text: whole },
          { title: "Commits behind", n: true, of: (r) => num(r.behind), text: whole },
          { title: "Bytes", n: true, of: (r) => num(r.bytes), text: bytes },
        ], rows: copies })),
    ];
    function lasts() {
      const years = (Number(ratedTb) * 1e12) / perDay / 365;
      return Number(ratedTb) > 0 && Number.isFinite(years) ? `It would last ${years > 100 ? "more than 100" : digits(years)} years of this.` : "Give it to see how long the drive lasts.";
    }
  },
  order: {},
};
