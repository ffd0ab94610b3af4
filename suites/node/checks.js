// Prints one line per check, `name: result`, the same wherever values are the same.

const { inspect } = require("node:util");

const plain = (value) => inspect(value, { depth: 8, breakLength: Infinity, maxArrayLength: null, maxStringLength: null, sorted: true, compact: true });

function told(error) {
  for (let each = error, deep = 0; each && deep < 6; each = each.cause ?? each.parent ?? each.original ?? each.driverError, deep += 1) {
    if (typeof each.code === "string" && /^[0-9A-Z]{5}$/.test(each.code)) {
      return `${error.constructor.name} ${each.code}${each.constraint ? ` ${each.constraint}` : ""}`;
    }
  }
  return `${error?.constructor?.name} no SQLSTATE`;
}

// Of what a driver gives for a statement, what a server said.
const said = (value) => (value && typeof value === "object" && Array.isArray(value.rows) && "command" in value ? [value.command, value.rowCount, value.rows] : value);

const show = (name, value) => console.log(`${name}: ${plain(value)}`);

async function check(name, run) {
  try {
    show(name, said(await run()));
    return true;
  } catch (error) {
    console.log(`${name}: error ${told(error)}`);
    console.error(`${name}:`, error);
    return false;
  }
}

// What the program leaves open must not keep it from ending.
function main(run) {
  run().then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
  });
}

const url = `postgres://postgres:none@${process.env.PGHOST}:${process.env.PGPORT}/${process.env.PGDATABASE}`;

module.exports = { check, main, show, url };
