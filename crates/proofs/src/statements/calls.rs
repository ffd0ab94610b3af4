//! Which calls are meant to hurt a server?
//!
//! Functions, operators, casts and aggregates with values from the edges of their types: the least and the
//! largest, NaN and infinity, no text and a long one, letters of several bytes, templates and patterns that
//! make much of little. A call that gives an error is answered; one that panics, hangs or takes all memory
//! is not.

use onlap_base::rng::Rng;

/// Functions, each with the kinds of its arguments; see [`value`]. `?` begins those that may be left out.
const FUNCTIONS: &str = "\
    abs n | acos f | acosd f | age s?s | array_append ai | array_cat aa | array_dims a | array_length ai | \
    array_lower ai | array_ndims a | array_position ai?i | array_positions ai | array_prepend ia | \
    array_remove ai | array_replace aii | array_replace Att | array_repeat ti | array_resize ai?i | \
    array_to_json a | array_to_string at?t | array_to_string At?t | array_upper ai | ascii t | asin f | \
    atan f | atan2 ff | array_sort a | array_distinct a | array_union aa | array_intersect aa | \
    array_except aa | array_slice aii?i | array_element ai | array_concat aa | array_has ai | arrow_cast it | \
    arrow_typeof i | bit_length t | btrim t?t | cardinality a | cbrt f | ceil n | char_length t | chr i | \
    coalesce tt | concat tit | concat_ws ttttt | cos f | cosh f | cot f | current_setting t?b | date d | \
    date_bin vss | date_part ts | date_part tv | date_trunc ts | date_trunc tv | decode tt | degrees f | \
    digest tt | div nn | encode xt | exp n | exp f | factorial i | find_in_set tt | flatten a | floor n | \
    format tttt | format tit | format_type ii | gcd ii | generate_series ii?i | generate_series ssv | \
    get_bit xi | get_byte xi | greatest iit | initcap t | isfinite s | json_array_length j | \
    json_build_array ttj | json_build_object titj | json_typeof j | jsonb_array_elements j | \
    jsonb_build_object tj | json_object_keys j | justify_days v | justify_hours v | justify_interval v | \
    lcm ii | least iin | left ti | length t | levenshtein tt | ln n | ln f | log n | log nn | lower t | \
    lpad ti?t | ltrim t?t | make_array iti | make_date iii | make_interval iiiiiif | make_time iif | \
    make_timestamp iiiiif | map aa | md5 t | mod ii | mod nn | named_struct titi | nullif ii | nullif tt | \
    octet_length t | overlay tti?i | pg_get_viewdef i | pg_size_pretty i | pg_typeof a | pi  | position tt | \
    power nn | power ff | quote_ident t | quote_literal t | quote_nullable t | radians f | random  | \
    range iii | regexp_count tt?i | regexp_like tt | regexp_match tt?t | regexp_replace ttt?t | \
    regexp_split_to_array tt | repeat ti | replace ttt | reverse t | right ti | round n | round ni | round f | \
    row tij | rpad ti?t | rtrim t?t | scale n | set_config ttb | sha256 x | sign n | sin f | split_part tti | \
    sqrt n | sqrt f | starts_with tt | string_to_array tt?t | strpos tt | struct ti | substr ti?i | \
    substr_index tti | substring ti?i | tan f | to_char st | to_char nt | to_char it | to_char vt | \
    to_date tt | to_hex i | to_json j | to_jsonb a | to_timestamp tt | to_timestamp f | to_unixtime s | \
    translate ttt | trim_scale n | trunc n | trunc ni | upper t | width_bucket nnni | date_add sv | \
    pg_get_serial_sequence tt | to_regclass t | has_table_privilege tt | nextval t | setval ti?b | txid_current ";

/// Aggregates, which may stand over a window as well.
const AGGREGATES: &str = "\
    array_agg t | array_agg i | avg n | avg i | avg v | bit_and i | bit_or i | bool_and b | corr ff | count t | \
    covar_pop ff | json_agg j | json_agg t | jsonb_object_agg ti | max t | max a | min s | mode i | \
    regr_slope ff | stddev n | stddev f | string_agg tt | sum n | sum i | sum f | sum v | var_pop i | \
    first_value t | lag ii?i | last_value i | lead ii?i | nth_value ti | ntile i | percent_rank  | rank  | \
    row_number  | cume_dist  | median f | approx_distinct t";

/// Operators between two values.
const OPERATORS: &str = "\
    i + i | i - i | i * i | i / i | i % i | i << i | i >> i | i & i | i # i | i ^ i | n + n | n - n | n * n | \
    n / n | n % n | n ^ n | f + f | f * f | f / f | f ^ f | f % f | t || t | t || i | a || a | a || i | \
    x || x | t like t | t ilike t | t similar to t | t ~ t | t ~* t | t !~ t | s + v | s - v | s - s | d + i | \
    d - i | d - d | d + v | v + v | v - v | v * f | v / f | v * i | v / i | v < v | s < s | a < a | a && a | \
    a @> a | t = t | t < t | n < f | i = n | j -> t | j -> i | j ->> t | j #> A | j #>> A | j @> j | j = j | \
    s at time zone t | t collate t | i in (i, i) | t between t and t | i = any (a) | i <> all (a)";

const TYPES: &str = "\
    int2 | int4 | int8 | float4 | float8 | numeric | numeric(5, 2) | numeric(38, 37) | numeric(1000, 900) | \
    text | varchar(3) | char(10) | varchar(10000000) | bool | date | time | timestamp | timestamptz | \
    interval | uuid | bytea | json | jsonb | int[] | text[] | numeric[] | date[] | regclass | oid | name | \
    bit(3) | inet";

const FIELDS: &str = "\
    century | day | decade | dow | doy | epoch | hour | isodow | isoyear | julian | microseconds | millennium | \
    milliseconds | minute | month | quarter | second | timezone | week | year";

/// One of a list.
fn one<'a>(rng: &mut Rng, list: &'a str) -> &'a str {
    let all: Vec<&str> = list.split(" | ").collect();
    *rng.pick(&all)
}

/// A statement with calls.
pub fn draw(rng: &mut Rng) -> String {
    let expression = match rng.below(8) {
        0 | 1 | 2 => function(rng),
        3 => operation(rng),
        4 => cast(rng),
        5 => special(rng),
        6 => return aggregate(rng),
        _ => {
            let inner = function(rng);
            let ty = one(rng, TYPES);
            format!("({inner})::{ty}")
        }
    };
    match rng.below(4) {
        0 => format!("select {expression}"),
        1 => format!("select {expression} from t where id <= {}", 1 + rng.below(1000)),
        2 => format!("select id from t where ({expression}) is null"),
        _ => format!("select count(*), max(length(({expression})::text)) from t"),
    }
}

fn call(rng: &mut Rng, signature: &str) -> String {
    let (name, kinds) = signature.split_once(' ').unwrap_or((signature, ""));
    let (needed, more) = kinds.split_once('?').unwrap_or((kinds, ""));
    let more = if rng.chance(0.5) { more } else { "" };
    let kinds: Vec<char> = needed.chars().chain(more.chars()).collect();
    let values: Vec<String> = kinds.into_iter().map(|kind| value(rng, kind)).collect();
    format!("{name}({})", values.join(", "))
}

fn function(rng: &mut Rng) -> String {
    let signature = one(rng, FUNCTIONS);
    call(rng, signature)
}

fn operation(rng: &mut Rng) -> String {
    let kinds = "abdfijnstvxA";
    let words = one(rng, OPERATORS).split(' ').map(|word| {
        let (open, rest) = word.split_at(word.find(|c: char| c != '(').unwrap_or(0));
        let (kind, close) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
        match close.trim_end_matches([')', ',']).is_empty()
            && kinds.contains(kind)
            && !kind.is_empty()
        {
            true => format!("{open}{}{close}", value(rng, kind.chars().next().unwrap_or('i'))),
            false => word.to_string(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn cast(rng: &mut Rng) -> String {
    let kind = *rng.pick(&['a', 'A', 'b', 'd', 'f', 'i', 'j', 'n', 's', 't', 'v', 'x']);
    let value = value(rng, kind);
    format!("({value})::{}", one(rng, TYPES))
}

fn special(rng: &mut Rng) -> String {
    let [t, u, i, k, a, s, v] = ['t', 't', 'i', 'i', 'a', 's', 'v'].map(|kind| value(rng, kind));
    match rng.below(10) {
        0 => format!("extract({} from {s})", one(rng, FIELDS)),
        1 => format!("extract({} from {v})", one(rng, FIELDS)),
        2 => format!("({a})[{i}]"),
        3 => format!("({a})[{i}:{k}]"),
        4 => format!("substring({t} from {i} for {k})"),
        5 => format!("substring({t} from {u})"),
        6 => format!("overlay({t} placing {u} from {i} for {k})"),
        7 => format!("trim(both {t} from {u})"),
        8 => format!("position({t} in {u})"),
        _ => format!("array(select g from generate_series({i}, {k}) g)"),
    }
}

fn aggregate(rng: &mut Rng) -> String {
    let signature = one(rng, AGGREGATES);
    let call = call(rng, signature);
    let rows = 1u64 << rng.below(18);
    let from = format!("from generate_series(1, {rows}) id, (select 7 as a, 'row' as b) t");
    match rng.below(3) {
        0 => format!("select {call} {from}"),
        1 => format!("select id % 3, {call} {from} group by 1"),
        _ => {
            let (i, k) = (rng.below(100_000), value(rng, 'i'));
            let frame = match rng.below(4) {
                0 => String::new(),
                1 => format!("rows between {i} preceding and {i} following"),
                2 => "rows between unbounded preceding and unbounded following".into(),
                _ => format!("rows between {k} preceding and current row"),
            };
            format!("select {call} over (order by id {frame}) {from}")
        }
    }
}

/// A value of a kind: `a` a list of numbers, `A` of texts, `b` a truth, `d` a day, `f` a float, `i` an integer, `j`
/// JSON, `n` a numeric, `s` a moment, `t` a text, `v` an interval, `x` bytes.
fn value(rng: &mut Rng, kind: char) -> String {
    let n = 1u64 << rng.below(21);
    let long = |text: &str| format!("repeat('{text}', {n})");
    let from = match kind {
        'a' => {
            "\
            array[1, 2, 3] | '{}'::int[] | array[null, 2147483647] | array[array[1, 2], array[3, 4]] | \
            array[id, a]"
        }
        'A' => {
            "\
            array['a', null, '€'] | '{}'::text[] | array[b, 'x'] | '{0, -1, a}'::text[]"
        }
        'b' => {
            "\
            true | false | null::bool | a > 3"
        }
        'd' => {
            "\
            '0001-01-01'::date | '5874897-12-31'::date | 'infinity'::date | '2024-02-29'::date | \
            '-infinity'::date | '4713-01-01 BC'::date"
        }
        'f' => {
            "\
            'NaN'::float8 | 'Infinity'::float8 | '-Infinity'::float8 | 1e308::float8 | -0.0::float8 | \
            0::float8 | 5e-324::float8 | a::float8 | -1.5::float8"
        }
        'i' => {
            "\
            0 | 1 | -1 | 2147483647 | -2147483648 | 9223372036854775807 | -9223372036854775808 | null::int | \
            id | a | 100 | -2147483648::int | 32767::int2 | -32768::int2 | 1000000"
        }
        'j' => {
            "\
            '{\"a\": [1, null]}'::jsonb | '[1e400, -0, 1e-400]'::jsonb | '\"\\u0000\"'::json | 'null'::json | \
            to_json(b) | '{}'::json | '[]'::jsonb | '{\"a\": {\"a\": {\"a\": 1}}}'::json"
        }
        'n' => {
            "\
            0.0 | 1e130 | -1e-130 | 99999999999999999999999999999999999999 | 0.1 | 'NaN'::numeric | \
            a::numeric | -1 | 1e38 | 170141183460469231731687303715884105727 | null::numeric | 1e-37 | \
            12345678901234567.123456789"
        }
        's' => {
            "\
            '294276-12-31 23:59:59.999999'::timestamp | '4713-01-01 BC'::timestamp | 'infinity'::timestamp | \
            now() | '-infinity'::timestamptz | '1970-01-01'::timestamp | '2024-03-31 02:30'::timestamptz | \
            '0001-01-01'::timestamp | timestamp '1969-12-31 23:59:59.999999'"
        }
        'v' => {
            "\
            '0'::interval | '2147483647 months'::interval | '-2147483648 days'::interval | \
            '1 microsecond'::interval | '1 year -13 months 40 days'::interval | \
            '-9223372036854775808 microseconds'::interval | '1 month'::interval | \
            make_interval(0, 0, 0, 2147483647)"
        }
        'x' => {
            "\
            '\\x'::bytea | '\\x00ff80'::bytea | decode('ff', 'hex') | b::bytea"
        }
        _ => {
            "\
            '' | 'x' | 'é€𝄞' | '€' | '%1$1000000s' | '%s%s%*s' | '(' | '[[:alpha:]' | 'a{1000}{1000}' | '\\' | \
            'NaN' | '(.*)*$' | '\\1\\2\\&' | 'g' | 'YYYY-MM-DD HH24:MI:SS.US' | 'FMMonth DDth, \"x' | \
            '999,999.99S' | 'Europe/Berlin' | 'FixedSizeBinary(2000000000)' | 'Decimal256(76, -128)' | 'hex' | \
            'base64' | 'escape' | 'day' | 'century' | 'infinity' | '{1,2}' | '{\"a\": 1}' | b | null::text | \
            '1 year' | '2024-01-01' | 't' | '-' | '…' | ' '"
        }
    };
    match (kind, rng.below(6)) {
        ('t', 0) => long("x"),
        ('t', 1) => format!("repeat({}, {n})", one(rng, from)),
        ('a', 0) => format!("array_repeat(1, {n})"),
        ('A', 0) => format!("string_to_array({}, ',')", long("a,")),
        ('x', 0) => format!("{}::bytea", long("x")),
        ('j', 0) => format!("('[' || {} || '1]')::json", long("1,")),
        ('i', 0) => n.to_string(),
        _ => one(rng, from).to_string(),
    }
}
