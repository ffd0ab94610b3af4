# Active Record: migrations with their advisory lock, the schema's dump and back, models, queries, locks, errors.

require "active_record"
require "stringio"
require "checks"

ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"], username: ENV["PGUSER"], password: ENV["PGPASSWORD"], database: ENV["PGDATABASE"], pool: 5,
)
ActiveRecord::Migration.verbose = false
Time.zone_default = ActiveSupport::TimeZone["America/Chicago"]

Dir.mkdir("migrate")
File.write("migrate/1_first.rb", <<~RUBY)
  class First < ActiveRecord::Migration[6.1]
    def change
      enable_extension "hstore"
      enable_extension "citext"
      enable_extension "pgcrypto"
      create_table :kinds, comment: "all of them" do |t|
        t.string :name, limit: 20, null: false, default: "none"
        t.text :body, comment: "any text"
        t.integer :small, limit: 2
        t.integer :whole
        t.bigint :big
        t.float :float
        t.decimal :decimal, precision: 12, scale: 3
        t.boolean :flag, default: true, null: false
        t.date :day
        t.time :clock
        t.datetime :moment, precision: 6
        t.column :zoned, :timestamptz
        t.interval :span
        t.binary :bytes
        t.uuid :key, default: "gen_random_uuid()"
        t.json :plain
        t.jsonb :data, default: {}, null: false
        t.hstore :store
        t.citext :folded
        t.inet :address
        t.cidr :network
        t.macaddr :mac
        t.bit :bits, limit: 4
        t.bit_varying :more_bits, limit: 8
        t.money :money
        t.point :place
        t.int4range :range
        t.daterange :days
        t.tstzrange :moments
        t.string :tags, array: true, default: []
        t.integer :numbers, array: true
        t.timestamps
        t.index :tags, using: :gin
        t.index :data, using: :gin, opclass: :jsonb_path_ops
        t.index "lower(name)", name: "kinds_low"
        t.index [:day, :whole], order: { day: :desc }, name: "kinds_day"
        t.index :big, unique: true, where: "flag"
        t.check_constraint "whole > -100", name: "kinds_whole"
      end
      create_table :people, id: :uuid do |t|
        t.string :name, index: { unique: true }
        t.references :boss, type: :uuid, foreign_key: { to_table: :people, on_delete: :nullify }
        t.integer :posts_count, default: 0
        t.integer :lock_version, default: 0
        t.timestamps
      end
      create_table :posts do |t|
        t.belongs_to :person, type: :uuid, null: false, foreign_key: true
        t.string :title
        t.integer :score, default: 0
        t.timestamps
      end
      create_join_table :posts, :tags
      create_table(:tags) { |t| t.string :name }
      add_foreign_key :posts_tags, :posts, on_delete: :cascade
    end
  end
RUBY
File.write("migrate/2_second.rb", <<~RUBY)
  class Second < ActiveRecord::Migration[6.1]
    disable_ddl_transaction!

    def change
      add_column :posts, :state, :string, default: "new"
      add_index :posts, :state, algorithm: :concurrently
      rename_column :posts, :title, :headline
      change_column_null :posts, :headline, false, "none"
      change_column_default :posts, :score, from: 0, to: 5
      reversible do |way|
        way.up { change_column :kinds, :decimal, :decimal, precision: 14, scale: 3 }
        way.down { change_column :kinds, :decimal, :decimal, precision: 12, scale: 3 }
      end
      validate_check_constraint :kinds, name: "kinds_whole" if respond_to?(:nothing)
      change_column_comment :kinds, :body, from: "any text", to: "a text"
    end
  end
RUBY

class Kind < ActiveRecord::Base; end

class Person < ActiveRecord::Base
  belongs_to :boss, class_name: "Person", optional: true
  has_many :posts, dependent: :destroy
  has_many :labels, -> { distinct }, through: :posts
end

class Label < ActiveRecord::Base
  has_and_belongs_to_many :posts, join_table: "posts_tags", foreign_key: "tag_id"
end

class Post < ActiveRecord::Base
  belongs_to :person, counter_cache: true
  has_and_belongs_to_many :labels, join_table: "posts_tags", association_foreign_key: "tag_id"
  enum state: { fresh: "new", done: "done" }
end

def migrations
  ActiveRecord::MigrationContext.new("migrate", ActiveRecord::SchemaMigration)
end

def connection
  ActiveRecord::Base.connection
end

def dumped
  out = StringIO.new
  ActiveRecord::SchemaDumper.dump(connection, out)
  out.string
end

check("migrate 1") { migrations.up(1).map(&:version) }
check("dump 1") { dumped }
check("migrate 2") { migrations.up(2).map(&:version) }
check("dump 2") { dumped }
check("status") { migrations.migrations_status }
check("two at once") do
  # One of them may find the lock taken.
  (1..2).map { Thread.new { migrations.migrate && "done" rescue $!.class.name } }.map(&:value) - %w[done ActiveRecord::ConcurrentMigrationError]
end
check("down") { migrations.down(1).map(&:version) }
check("up again") { migrations.migrate.map(&:version) }
check("pending") { migrations.needs_migration? }
# What could not be done is done otherwise, so that both servers go on alike.
check("rename table") { connection.rename_table(:tags, :labels) && "renamed" } || begin
  connection.execute("ALTER SEQUENCE tags_id_seq RENAME TO labels_id_seq")
  connection.execute("ALTER INDEX IF EXISTS tags_pkey RENAME TO labels_pkey")
end
first = dumped
check("load what was dumped") do
  connection.execute("DROP TABLE posts_tags, labels, posts, people, kinds")
  eval(first)
  dumped == first
end
check("tables") { [connection.tables.sort, connection.views, connection.extensions.sort, connection.schema_names.sort] }
%w[kinds people posts posts_tags].each do |table|
  check("columns #{table}") { connection.columns(table).map { |c| [c.name, c.sql_type, c.null, c.default, c.default_function, c.comment] } }
  check("indexes #{table}") { connection.indexes(table).sort_by(&:name).map { |i| [i.name, i.unique, i.columns, i.where, i.using, i.orders, i.opclasses] } }
  check("foreign keys #{table}") { connection.foreign_keys(table).map { |f| [f.name, f.to_table, f.column, f.options[:on_delete]] }.sort }
  check("primary key #{table}") { [connection.primary_keys(table), connection.check_constraints(table).map { |c| [c.name, c.expression] }] }
end
[Kind, Person, Post, Label].each(&:reset_column_information)

VALUES = {
  name: "Zoë", body: "a\n'b'\\", small: -3, whole: 7, big: 2**62, float: 1.5e-7, decimal: BigDecimal("12345.678"), flag: false, day: Date.new(2024, 2, 29), clock: "23:59:59", moment: Time.utc(2024, 3, 10, 8, 30, 0.125), zoned: Time.utc(2024, 3, 10, 8), span: 3.days + 2.hours,
  bytes: "\x00\xFF".b, key: "00000000-0000-0000-0000-000000000007", plain: { "a" => [1, nil] }, data: { "k" => { "n" => 1 } }, store: { "a" => "1", "b" => nil }, folded: "MiX", address: "10.0.0.1", network: "10.0.0.0/8", mac: "08:00:2b:01:02:03", bits: "1010", more_bits: "11", money: 12.5,
  range: 1...5, days: Date.new(2024, 1, 1)...Date.new(2024, 2, 1), tags: ["x", 'y"', "z,z"], numbers: [1, nil, 3],
}.freeze
check("all values") { Kind.find(Kind.create!(VALUES).id).attributes.except("id", "created_at", "updated_at").transform_values(&:to_s).sort }
check("defaults") { Kind.create!.reload.attributes.except("id", "key", "created_at", "updated_at").sort_by(&:first) }
{
  json: -> { Kind.where("data @> ?", { k: { n: 1 } }.to_json) }, array: -> { Kind.where("'x' = ANY (tags)") }, citext: -> { Kind.where(folded: "mix") }, range: -> { Kind.where("range @> ?", 3) }, between: -> { Kind.where(day: Date.new(2024, 1, 1)..) }, list: -> { Kind.where(whole: [7, 8, nil]) },
  either: -> { Kind.where(small: -3).or(Kind.where(flag: true)) }, negated: -> { Kind.where.not(name: "none") }, like: -> { Kind.where(Kind.arel_table[:name].matches("zO%")) }, inet: -> { Kind.where(address: "10.0.0.1") }, store: -> { Kind.where("store -> 'a' = ?", "1") }, lower: -> { Kind.where("lower(name) = ?", "zoë") },
}.each { |name, find| check("find #{name}") { find.call.order(:id).pluck(:id) } }
check("rows") do
  anna, bert = %w[Anna Bert].each_with_index.map { |name, n| Person.create!(id: "00000000-0000-0000-0000-00000000000#{n}", name: name) }
  bert.update!(boss: anna)
  labels = %w[red blue].map { |name| Label.create!(name: name) }
  6.times { |n| [anna, bert][n % 2].posts.create!(headline: "P#{n}", score: n, labels: labels.take(n % 3)) }
  Person.order(:name).pluck(:name, :posts_count)
end
QUERIES = {
  includes: -> { Person.includes(posts: :labels).order(:name).map { |p| [p.name, p.posts.sort_by(&:id).map { |o| [o.headline, o.labels.map(&:name).sort] }] } }, eager: -> { Person.eager_load(:posts, :boss).order(:name, "posts.id").map { |p| [p.name, p.boss&.name, p.posts.map(&:headline)] } },
  joins: -> { Post.joins(:person, :labels).where(people: { name: "Bert" }).distinct.order(:headline).pluck(:headline) }, left: -> { Person.left_joins(:posts).group(:name).order(:name).count("posts.id") }, group: -> { Post.group(:person_id).having("sum(score) > 1").order(:person_id).sum(:score) },
  aggregates: -> { [Post.average(:score), Post.maximum(:score), Post.minimum(:headline), Post.distinct.count(:person_id), Post.sum("score * 2")] }, subquery: -> { Person.where(id: Post.where("score > 4").select(:person_id)).pluck(:name) }, exists: -> { [Person.exists?(name: "Anna"), Post.where(score: 99).any?, Post.none?] },
  through: -> { Person.find_by(name: "Bert").labels.order(:name).pluck(:name) }, batches: -> { Post.in_batches(of: 4).map { |b| b.pluck(:headline).sort } }, each: -> { Post.find_each(batch_size: 2).map(&:score) }, enum: -> { [Post.fresh.count, Post.first.done!, Post.done.count, Post.first.state] }, window: -> { Post.order(:id).pluck(Arel.sql("rank() OVER (PARTITION BY person_id ORDER BY score DESC)")) },
  page: -> { Post.order(score: :desc).limit(2).offset(1).pluck(:headline) }, explain: -> { Post.where(id: 1).explain.include?("EXPLAIN") }, zone: -> { Kind.order(:id).first.moment.zone }, raw: -> { connection.select_all("SELECT 1 AS a, 'x'::text AS b, now() IS NOT NULL AS c").to_a }, binds: -> { connection.exec_query("SELECT $1::int + 1 AS n", "SQL", [ActiveRecord::Relation::QueryAttribute.new("n", 4, ActiveRecord::Type::Integer.new)]).rows },
}.freeze
QUERIES.each { |name, query| check("query #{name}", &query) }
check("insert_all") { Label.insert_all([{ id: 1, name: "again" }, { id: 50, name: "new" }], returning: %w[id name]).rows }
check("upsert_all") { [Label.upsert_all([{ id: 1, name: "crimson" }, { id: 51, name: "other" }]).length, Label.order(:id).pluck(:name)] }
check("update_all") { [Post.where("score > 3").update_all("score = score + 10"), Post.order(:id).pluck(:score)] }
check("touch") { Person.find_by(name: "Anna").touch }
check("find_or_create_by") { [Person.find_or_create_by!(name: "Carl").persisted?, Person.create_or_find_by!(name: "Carl").name] }
check("error of an optimistic lock") { a, b = 2.times.map { Person.find_by(name: "Anna") }; a.update!(name: "Anne"); b.update!(name: "Ann") }
check("nested transactions") do
  Person.transaction { Label.create!(name: "outer"); Label.transaction(requires_new: true) { Label.create!(name: "inner"); raise ActiveRecord::Rollback } }
  Label.where(name: %w[outer inner]).pluck(:name)
end
check("isolation") { Label.transaction(isolation: :serializable) { connection.select_value("SHOW transaction_isolation") } }
check("skip locked") do
  Person.transaction do
    Person.lock.find_by!(name: "Anne")
    Thread.new { ActiveRecord::Base.connection_pool.with_connection { Person.transaction { Person.lock("FOR UPDATE SKIP LOCKED").order(:name).pluck(:name) } } }.value
  end
end
check("with_lock") { Person.first.with_lock("FOR NO KEY UPDATE") { "held" } }
check("advisory lock") { [connection.get_advisory_lock(7), connection.release_advisory_lock(7)] }
{
  unique: -> { Person.create!(name: "Bert") }, foreign: -> { Post.new(headline: "x", person_id: "00000000-0000-0000-0000-0000000000ff").save!(validate: false) }, null: -> { Post.insert!({ headline: nil }) }, check: -> { Kind.create!(whole: -500) }, long: -> { Kind.create!(name: "x" * 21) }, range: -> { connection.execute("SELECT 2147483647 + 1") },
  table: -> { connection.execute("SELECT * FROM nowhere") }, missing: -> { Person.find(SecureRandom.uuid) }, restrict: -> { connection.execute("DELETE FROM people WHERE name = 'Bert'") }, timeout: -> { connection.execute("SET statement_timeout = 50; SELECT pg_sleep(3)") },
}.each { |name, fails| check("error #{name}", &fails) }
connection.execute("RESET statement_timeout")
check("destroy") { [Person.find_by(name: "Bert").destroy.name, Post.count] }
check("prepared statement after a change") { Label.find(1); connection.execute("ALTER TABLE labels ADD COLUMN z int"); Label.find(1).name }
check("truncate") { connection.truncate_tables("kinds", "posts_tags", "posts", "people", "labels"); Post.count }
check("without referential integrity") { [connection.disable_referential_integrity { Post.count }].length }
