// What node-postgres sends and reads. Prints one line per result, the same at every server.
'use strict'

const { Client, Pool } = require('pg')
const Cursor = require('pg-cursor')

const show = (what, value) => console.log(what, JSON.stringify(value))

async function fails(client, text, values) {
  try {
    await client.query(text, values)
  } catch (error) {
    show('error', [error.code, error.schema, error.table, error.column, error.constraint])
    return
  }
  throw new Error(`${text} does not fail`)
}

async function types(client) {
  await client.query(`create table item (id serial primary key, label text not null,
    price numeric(10, 2), made date, seen timestamptz, ok boolean, ratio float8, raw bytea, key uuid,
    doc json, small int2, big int8, code varchar(5))`)
  const insert = `insert into item (label, price, made, seen, ok, ratio, raw, key, doc, small, big, code)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning *`
  const values = ["a 'word'", '12.50', '2024-02-29', new Date('2024-02-29T12:30:00.250Z'), true, 0.1,
    Buffer.from([0, 255, 39]), '12345678-1234-5678-1234-567812345678', { a: [1, null] }, -3,
    '4611686018427387904', null]
  const result = await client.query(insert, values)
  show('fields', result.fields.map((f) => [f.name, f.dataTypeID]))
  show('row', result.rows)
  show('command', [result.command, result.rowCount])
  const named = { name: 'by-id', text: 'select label, price from item where id = $1' }
  for (let id = 0; id < 3; id++) {
    show('named', (await client.query({ ...named, values: [id] })).rows)
  }
  const arrays = await client.query({ text: 'select id, label from item', rowMode: 'array' })
  show('arrays', arrays.rows)
  const several = await client.query('select 1 as one; select 2 as two; update item set small = 1')
  show('several', several.map((r) => [r.command, r.rowCount, r.rows]))
}

async function transactions(client) {
  await client.query('begin')
  await client.query('insert into item (label) values ($1)', ['gone'])
  await fails(client, 'insert into item (id, label) values (1, $1)', ['again'])
  await fails(client, 'select 1')
  await client.query('rollback')
  show('count', (await client.query('select count(*) from item')).rows)
  await fails(client, 'select * from nothing')
  await fails(client, 'insert into item (label) values (null)')
  await fails(client, 'insert into item (label, code) values ($1, $2)', ['x', 'too long'])
  await fails(client, 'select $1::int', ['word'])
}

async function rows(client) {
  await client.query('create table line (n int primary key, word text)')
  await client.query("insert into line select n, 'w' || n from generate_series(1, 25) n")
  const cursor = client.query(new Cursor('select n, word from line order by n'))
  const sizes = []
  for (;;) {
    const some = await cursor.read(10)
    if (some.length === 0) break
    sizes.push([some.length, some[0].n])
  }
  await cursor.close()
  show('cursor', sizes)
  const any = 'select n from line where n = any($1) order by n'
  show('any', (await client.query(any, [[3, 1, 99]])).rows)
  const words = await client.query('select n from line where word = any($1) order by n', [['w2', 'w 3']])
  show('any', words.rows)
  show('list', (await client.query('select $1::int[] as list', [[1, null, 2]])).rows)
  // Queries that are not waited for queue up.
  const word = 'select word from line where n = $1'
  const many = await Promise.all([1, 2, 3].map((n) => client.query(word, [n])))
  show('many', many.map((r) => r.rows[0].word))
}

async function pool() {
  const several = new Pool({ max: 3 })
  const sums = await Promise.all([1, 2, 3, 4, 5].map((n) => several.query('select $1::int as same', [n])))
  show('pool', sums.map((r) => r.rows[0].same))
  await several.end()
}

async function main() {
  const client = new Client()
  const notices = []
  client.on('notice', (notice) => notices.push([notice.severity, notice.code, notice.message]))
  await client.connect()
  await types(client)
  await transactions(client)
  await rows(client)
  await client.query('drop table if exists nothing')
  show('notices', notices)
  await client.end()
  await pool()
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
