"use strict";
// Draws the charts of a report from the data in the page. Plain SVG; nothing is fetched.
(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const NS = "http://www.w3.org/2000/svg";
    // One unit is about one pixel, so that text is as large on a phone as on a desk.
    const WIDEST = 560, HEIGHT = 300, LEFT = 58, RIGHT = 12, TOP = 12, BOTTOM = 40;
    let WIDTH = WIDEST;
    const engines = [...new Set(data.entries.map((e) => e.engine))];
    const color = (engine) => `var(--c${engines.indexOf(engine) % 8})`;
    // Lines differ in more than colour.
    const DASHES = ["none", "7 3", "2 3", "9 3 2 3", "4 4", "12 4", "1 4", "6 2 1 2"];
    const dashes = (engine) => DASHES[engines.indexOf(engine) % 8];
    const byId = (id) => document.getElementById(id);

    const node = (name, attributes, ...children) => {
        const made = document.createElementNS(NS, name);
        for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
        made.append(...children);
        return made;
    };
    const text = (x, y, content, anchor = "middle") =>
        node("text", { x, y, "text-anchor": anchor }, content);
    const line = (x1, y1, x2, y2, attributes) => node("line", { x1, y1, x2, y2, ...attributes });

    // A short number: 1.2M, 340k, 0.012.
    const short = (n) => {
        const size = Math.abs(n);
        if (size >= 1e9) return `${+(n / 1e9).toPrecision(3)}G`;
        if (size >= 1e6) return `${+(n / 1e6).toPrecision(3)}M`;
        if (size >= 1e4) return `${+(n / 1e3).toPrecision(3)}k`;
        return `${+n.toPrecision(3)}`;
    };

    // Ticks of an axis from 0, or of the powers of ten around the values.
    const scale = (values, log) => {
        const positive = values.filter((v) => v > 0);
        const most = Math.max(...positive, 1e-9);
        if (log) {
            const low = Math.floor(Math.log10(Math.min(...positive, most)));
            const high = Math.max(Math.ceil(Math.log10(most)), low + 1);
            const ticks = [];
            for (let power = low; power <= high; power++) ticks.push(10 ** power);
            const at = (v) => (v > 0 ? (Math.log10(v) - low) / (high - low) : 0);
            return { at: (v) => Math.min(1, Math.max(0, at(v))), ticks };
        }
        const raw = most / 4;
        const unit = 10 ** Math.floor(Math.log10(raw));
        const step = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= raw);
        const top = Math.ceil(most / step) * step;
        const ticks = [];
        for (let n = 0; n <= top + step / 2; n += step) ticks.push(n);
        return { at: (v) => v / top, ticks };
    };

    const plotY = (share) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
    const frame = (label, axis) => {
        const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
        for (const tick of axis.ticks) {
            const y = plotY(axis.at(tick));
            svg.append(line(LEFT, y, WIDTH - RIGHT, y, { class: "grid" }));
            svg.append(text(LEFT - 6, y + 4, short(tick), "end"));
        }
        return svg;
    };
    const show = (title, svg) => {
        const figure = document.createElement("figure");
        const caption = document.createElement("figcaption");
        caption.textContent = title;
        figure.append(caption, svg);
        byId("charts").append(figure);
    };

    // A course over time for every engine on one axis; points are 100 ms apart in the data and are put
    // together to at most 300, by `join`: a mean hides no long stall, a maximum no slow operation.
    const course = (title, entries, field, join, log) => {
        const series = entries
            .map((e) => ({ engine: e.engine, points: e.now[field] || [] }))
            .filter((s) => s.points.length > 1);
        if (!series.length) return;
        const longest = Math.max(...series.map((s) => s.points.length));
        const width = Math.max(1, Math.ceil(longest / 300));
        for (const s of series) {
            const joined = [];
            for (let i = 0; i < s.points.length; i += width) joined.push(join(s.points.slice(i, i + width)));
            s.points = joined;
        }
        const axis = scale(series.flatMap((s) => s.points), log);
        const svg = frame(title, axis);
        const seconds = longest / 10;
        const x = (i) => LEFT + ((WIDTH - LEFT - RIGHT) * i * width) / longest;
        for (const s of series) {
            const path = s.points.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${plotY(axis.at(v)).toFixed(1)}`);
            const stroke = { d: path.join(""), fill: "none", "stroke-width": 1.6 };
            const drawn = node("path", { ...stroke, class: "course" });
            drawn.style.stroke = color(s.engine);
            drawn.style.strokeDasharray = dashes(s.engine);
            drawn.append(node("title", {}, s.engine));
            svg.append(drawn);
        }
        for (let part = 0; part <= 4; part++) {
            const at = LEFT + ((WIDTH - LEFT - RIGHT) * part) / 4;
            svg.append(text(at, HEIGHT - 20, `${short((seconds * part) / 4)} s`, part ? (part < 4 ? "middle" : "end") : "start"));
        }
        show(title, svg);
    };

    // A bar per entry with its least and greatest value, its name above it and its median behind it.
    const bars = (title, items, log, one) => {
        const values = items.flatMap((i) => [i.spread.median, i.spread.most]);
        if (!values.some((v) => v > 0)) return;
        const low = log ? items.map((i) => i.spread.least) : [];
        const axis = scale([...values, ...low, ...(one ? [1] : [])], log);
        const ROW = 42, BAR = 15, SIDE = 8, VALUE = 52;
        const bottom = TOP + items.length * ROW;
        const x = (v) => SIDE + (WIDTH - SIDE - VALUE) * axis.at(v);
        const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${bottom + 24}`, role: "img", "aria-label": title });
        const every = Math.ceil(axis.ticks.length / Math.max(2, Math.floor(WIDTH / 70)));
        axis.ticks.forEach((tick, i) => {
            svg.append(line(x(tick), TOP, x(tick), bottom, { class: "grid" }));
            if (i % every === 0) svg.append(text(x(tick), bottom + 16, short(tick), i ? "middle" : "start"));
        });
        items.forEach((item, i) => {
            const { median, least, most } = item.spread;
            const top = TOP + i * ROW, middle = top + 18 + BAR / 2;
            svg.append(text(SIDE, top + 13, item.label, "start"));
            const bar = node("rect", { x: SIDE, y: top + 18, width: Math.max(1, x(median) - SIDE), height: BAR, class: "bar" });
            bar.style.fill = color(item.engine);
            bar.append(node("title", {}, `${item.label}: ${short(median)} (${short(least)} to ${short(most)})`));
            svg.append(bar);
            if (most > least) {
                for (const [kind, width] of [["halo", 4.5], ["error", 1.5]]) {
                    const mark = { "stroke-width": width, class: kind };
                    svg.append(line(x(least), middle, x(most), middle, mark));
                    for (const end of [least, most]) svg.append(line(x(end), middle - 5, x(end), middle + 5, mark));
                }
            }
            svg.append(text(Math.max(x(most), x(median)) + 6, middle + 4, short(median), "start"));
        });
        if (one) svg.append(line(x(1), TOP, x(1), bottom, { class: "one" }));
        show(title, svg);
    };

    const fill = (select, options, all) => {
        for (const option of options) select.append(new Option(option || all, option));
    };
    const width = () => Math.max(280, Math.min(WIDEST, byId("charts").clientWidth - 20));
    const draw = () => {
        byId("charts").replaceChildren();
        WIDTH = width();
        const step = byId("step").value, chosen = byId("case").value;
        const log = byId("axis").value === "log";
        const entries = data.entries
            .filter((e) => e.case === chosen)
            .map((e) => ({ ...e, now: e.steps.find((s) => s.step === step) }))
            .filter((e) => e.now);
        const mean = (part) => part.reduce((a, b) => a + b, 0) / part.length;
        course(`${step}: operations per second over time`, entries, "rate", mean, log);
        course(`${step}: longest operation over time, µs`, entries, "longest", (part) => Math.max(...part), log);
        for (const metric of data.metrics) {
            const items = entries
                .filter((e) => e.now.figures[metric.name])
                .map((e) => ({ engine: e.engine, label: e.engine, spread: e.now.figures[metric.name] }));
            const good = metric.better === "higher" ? "more is better" : "less is better";
            if (items.length) bars(`${step}: ${metric.meaning} (${good})`, items, log, false);
        }
        for (const metric of data.metrics) {
            const items = data.ratios
                .filter((r) => r.case === chosen)
                .flatMap((r) => r.lines.filter((l) => l.step === step && l.metric === metric.name).map((l) => ({ engine: r.peer, label: `/ ${r.peer}`, spread: l.ratio })));
            const first = data.ratios.length ? data.ratios[0].engine : "";
            if (items.length) bars(`${step}: ${first} over others, ${metric.name}`, items, log, true);
        }
    };

    const save = (name, type, content) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([content], { type }));
        link.download = name;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
    const csv = () => {
        const quoted = (v) => (/[",\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : v);
        const rows = [["case", "engine", "step", "figure", "median", "least", "greatest"]];
        for (const e of data.entries)
            for (const s of e.steps)
                for (const [figure, v] of Object.entries(s.figures))
                    rows.push([e.case, e.engine, s.step, figure, v.median, v.least, v.most]);
        return rows.map((r) => r.map(quoted).join(",")).join("\n") + "\n";
    };

    for (const engine of engines) {
        const item = document.createElement("span");
        item.style.setProperty("--color", color(engine));
        const sample = node("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" });
        const stroke = node("path", { d: "M0 6H28", fill: "none", "stroke-width": 4 });
        stroke.style.stroke = color(engine);
        stroke.style.strokeDasharray = dashes(engine);
        sample.append(stroke);
        item.append(sample, engine);
        byId("legend").append(item);
    }
    fill(byId("step"), [...new Set(data.entries.flatMap((e) => e.steps.map((s) => s.step)))], "");
    fill(byId("case"), [...new Set(data.entries.map((e) => e.case))], "the only one");
    for (const id of ["step", "case", "axis"]) byId(id).addEventListener("change", draw);
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    byId("save-json").addEventListener("click", () => save("report.json", "application/json", JSON.stringify(data.report, null, 2)));
    byId("save-csv").addEventListener("click", () => save("report.csv", "text/csv", csv()));
    // Paper cannot be unfolded.
    addEventListener("beforeprint", () => {
        for (const folded of document.querySelectorAll("details")) folded.open = true;
    });
    addEventListener("resize", () => {
        if (width() !== WIDTH) draw();
    });
    draw();
    // Tests wait for this.
    document.documentElement.dataset.drawn = document.querySelectorAll("figure svg").length;
})();
