// How are elements made? Texts become text nodes and nothing else: no value of the database is ever read as HTML.
const SVG = "http://www.w3.org/2000/svg";

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(9)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
};
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);
const $ = (id) => document.getElementById(id);

const show = (parent, ...children) => parent.replaceChildren(...children.flat(9).filter(Boolean));

// A table. A column: {title, of: row => value, text: (value, row) => what is shown, n: right-aligned, …}. Sorted by a
// click on a head; `state` keeps by which between two looks.
const table = ({ columns, rows, caption, groups, state, cards = true }) => {
  const order = state || {};
  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === null || a === undefined) return 1;
    if (b === null || b === undefined) return -1;
    return (a < b ? -1 : 1) * (order.down ? -1 : 1);
  };
  const body = h("tbody");
  const heads = columns.map((column, at) => {
    const head = h("th", { scope: "col", class: [column.n && "n", column.edge && "edge"].filter(Boolean).join(" ") || null });
    if (column.of && column.title) {
      const sort = () => {
        order.down = order.at === at ? !order.down : Boolean(column.n);
        order.at = at;
        draw();
      };
      head.append(h("button", { type: "button", onclick: sort }, column.title));
    } else head.append(column.title || "");
    return head;
  });
  const draw = () => {
    const shown = rows.slice();
    if (order.at !== undefined) {
      const by = columns[order.at].of;
      shown.sort((a, b) => compare(by(a), by(b)));
    }
    heads.forEach((head, at) => {
      if (at === order.at) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    show(body, shown.map((row) => h("tr", null, columns.map((column) => {
      const value = column.of ? column.of(row) : null;
      const classes = [column.n && "n", column.edge && "edge", column.class].filter(Boolean).join(" ");
      return h("td", { class: classes || null, "data-label": column.class === "name" ? null : column.title },
        column.text ? column.text(value, row) : value);
    }))));
  };
  draw();
  return h("div", { class: "scroll" }, h("table", { class: cards ? "cards" : null },
    caption && h("caption", null, caption),
    h("thead", null, groups && h("tr", null, groups.map((group) =>
      h("th", { class: group.edge ? "group edge" : "group", colspan: group.span, scope: "colgroup" }, group.title))),
    h("tr", null, heads)), body));
};

const tiles = (all) => h("section", { class: "tiles" }, all.map(([name, value, unit]) =>
  h("dl", { class: "tile" }, h("dt", null, name), h("dd", null, value, unit && h("small", null, "\u00a0" + unit)))));
const empty = (...children) => h("p", { class: "empty" }, children);
const code = (text) => h("code", null, text);
