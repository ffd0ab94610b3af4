// How wide is a chart? As wide as its place, so that its texts have the size of all texts.
const roomy = (columns) => {
  const page = $("page").clientWidth;
  const all = window.matchMedia("(max-width:60rem)").matches ? 1 : columns;
  return Math.max(240, Math.floor((page - 16 * (all - 1)) / all) - 34);
};

// How are numbers drawn over time? Lines in SVG, with their last values said in words next to them.
// A series: {name, points: [[seconds, value], …]}. `text` says a value with its unit.
const span = (seconds) => (seconds < 90 ? Math.round(seconds) + " s" : seconds < 5400 ? Math.round(seconds / 60) + " min" : Math.round(seconds / 360) / 10 + " h");
const lines = ({ title, series, text, seconds = 300, note, base = 10 }) => {
  const [W, H, left, right, top, bottom] = [roomy(2), 150, 62, 8, 8, 18];
  const now = Math.max(...series.flatMap((one) => one.points.map((p) => p[0])), 0);
  const seen = series.map((one) => one.points.filter((p) => now - p[0] <= seconds));
  const wide = Math.max(20, ...seen.flatMap((points) => points.map((p) => now - p[0])));
  const most = Math.max(...seen.flatMap((points) => points.map((p) => p[1])).filter(Number.isFinite), 0);
  // The axis ends at a number that people read at a glance, of bytes in their units.
  const unit = base ** Math.floor(Math.log(most || 1) / Math.log(base) + 1e-9);
  const steps = [1, 2, 4, 5, 8, 10, 20, 40, 50, 80, 100, 200, 400, 500, 800, 1024].filter((k) => k <= base);
  const high = most === 0 ? 1 : steps.map((k) => k * unit).find((k) => k >= most) || most;
  const x = (at) => left + (W - left - right) * (1 - (now - at) / wide);
  const y = (v) => H - bottom - (H - top - bottom) * Math.min(1, v / high);
  const path = (points) => points.reduce((all, [at, v], i) => {
    if (!Number.isFinite(v)) return all;
    const gap = i === 0 || !Number.isFinite(points[i - 1][1]);
    const place = x(at).toFixed(1) + " " + y(v).toFixed(1);
    // A point without neighbours is a dot.
    return all + (gap ? "M" + place + "h0" : "L" + place);
  }, "");
  const last = (points) => { const p = points.filter((q) => Number.isFinite(q[1])).pop(); return p ? text(p[1]) : NONE; };
  const said = series.map((one, at) => one.name + " " + last(seen[at])).join(", ");
  const marks = [0, high / 2, high].map((v) => [
    s("line", { class: "axis", x1: left, x2: W - right, y1: y(v), y2: y(v) }),
    s("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, text(v)),
  ]);
  return h("section", null, h("h2", null, title),
    s("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title}: ${said}` }, marks,
      s("text", { x: left, y: H - 4 }, `${span(wide)} ago`),
      s("text", { x: W - right, y: H - 4, "text-anchor": "end" }, "now"),
      seen.map((points, at) => s("path", { class: "line c" + at, d: path(points) }))),
    h("ul", { class: "key" }, series.map((one, at) => h("li", { class: "c" + at }, `${one.name} ${last(seen[at])}`))),
    note && h("p", { class: "chart-note" }, note));
};
