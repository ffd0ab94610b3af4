set work_mem = 'abc'
set work_mem = '1XB'
set work_mem = '1'
set work_mem = '99999999999GB'
set work_mem = 1.5
set work_mem = '1.5MB'
show work_mem
set work_mem = '100kB '
set work_mem = ' 1 MB'
show work_mem
set work_mem = '0x1000'
show work_mem
set work_mem = '010000'
show work_mem
set work_mem = '1e4'
show work_mem
set work_mem = ''
set work_mem = on
set work_mem = -5
set statement_timeout = '10 foo'
set statement_timeout = '1.5s'
show statement_timeout
set statement_timeout = '100us'
show statement_timeout
set statement_timeout = '1d'
show statement_timeout
set statement_timeout = '90min'
show statement_timeout
set statement_timeout = -1
set statement_timeout = '30d'
set statement_timeout = 0
set lock_timeout = 'x'
set extra_float_digits = 4
set extra_float_digits = -16
set extra_float_digits = 'a'
set extra_float_digits = 1.6
show extra_float_digits
set extra_float_digits = '2kB'
reset extra_float_digits
set bytea_output = 'foo'
set bytea_output = ''
set bytea_output = HEX
show bytea_output
set client_min_messages = 'foo'
set client_min_messages = 'info'
show client_min_messages
set client_min_messages = 'fatal'
set client_min_messages = 'debug'
show client_min_messages
reset client_min_messages
set IntervalStyle = 'x'
set intervalstyle = 1
set DateStyle = 'x'
set DateStyle = 'ISO, DMY, YMD'
set datestyle = 1
set TimeZone = 'Nowhere/There'
set timezone = 'abc def'
set timezone = 200
set timezone to default
set backslash_quote = 'x'
set backslash_quote = true
show backslash_quote
set backslash_quote = 0
show backslash_quote
reset backslash_quote
set array_nulls = maybe
set array_nulls = 2
reset array_nulls
set enable_seqscan = 'x'
set enable_seqscan = 1
set enable_seqscan = off
show enable_seqscan
set random_page_cost = 'x'
set random_page_cost = -1
set random_page_cost = '1.5kB'
set random_page_cost = 1.25
show random_page_cost
set random_page_cost = '1e2'
show random_page_cost
set random_page_cost = 'nan'
set jit_above_cost = 1e10
show jit_above_cost
set hash_mem_multiplier = 0.5
set hash_mem_multiplier = 1.5
show hash_mem_multiplier
set default_transaction_isolation = 'x'
set default_transaction_isolation = 'SERIALIZABLE'
show default_transaction_isolation
set default_transaction_isolation = 'read  committed'
reset default_transaction_isolation
set synchronous_commit = 'x'
set synchronous_commit = yes
show synchronous_commit
set synchronous_commit = 0
show synchronous_commit
reset synchronous_commit
set plan_cache_mode = 'x'
set force_parallel_mode = 'x'
set xmloption = 'x'
set xmlbinary = 'x'
set session_replication_role = 'x'
reset password_encryption
set log_statement = 'x'
set client_encoding = 'foo'
set client_encoding = 'utf-8'
show client_encoding
set lc_monetary = 'xx_YY'
set lc_monetary = 'C'
set lc_monetary = 'POSIX'
set lc_messages = 'xx'
set lc_time = 'xx'
set lc_numeric = 'xx'
reset all
set search_path = a, 'b c', "D"
show search_path
reset search_path
set default_tablespace = 'nope'
set default_tablespace = 'pg_default'
show default_tablespace
set default_tablespace = ''
set default_table_access_method = 'nope'
set default_table_access_method = ''
set default_table_access_method = 'heap'
set default_toast_compression = 'x'
set default_toast_compression = 'zstd'
set default_text_search_config = 'nope'
set nope.x = 1
show nope.x
set nope. = 1
set "nope.1x" = 1
set "a b.c" = 1
select current_setting('nope')
select current_setting('nope', true)
select current_setting('nope.y')
select set_config('work_mem', 'x', false)
select set_config('work_mem', '1.5MB', false)
select set_config('array_nulls', 'x', false)
select set_config('bytea_output', 'x', false)
set server_version = '16'
set is_superuser = on
set transaction_isolation = 'x'
set role = 'nope'
set session authorization nope
set lc_collate = 'C'
set block_size = 1
set geqo_threshold = 1
set geqo_threshold = 3000000000
set geqo_threshold = '99999999999999999999'
set max_stack_depth = 50
set deadlock_timeout = 0
set deadlock_timeout = '2s'
show deadlock_timeout
set idle_in_transaction_session_timeout = '1h'
show idle_in_transaction_session_timeout
set statement_timeout = '2147483648'
set statement_timeout = '25 d'
set work_mem = '1 kb'
set work_mem = '1KB'
set work_mem = '1mb'
set work_mem = '1B'
set work_mem = '64 kB', '65 kB'
set datestyle = iso, dmy
show datestyle
set enable_seqscan = on, off
set standard_conforming_strings = 'maybe'
set application_name = 'é x'
show application_name
reset application_name
set row_security = 'x'
set check_function_bodies = 'x'
set transform_null_equals = 'x'
set quote_all_identifiers = 'x'
set constraint_exclusion = 'x'
set constraint_exclusion = on
set from_collapse_limit = 1
set join_collapse_limit = 1
set cpu_tuple_cost = 0.5
set enable_partition_pruning = off
set enable_material = off
set enable_gathermerge = off
set enable_parallel_hash = off
set enable_tidscan = off
set enable_partitionwise_join = on
set default_statistics_target = 1000
set log_min_messages = 'x'
set log_min_messages = error
set statement_timeout to '1.23456min'
show statement_timeout
set xmlbinary = hex
show xmlbinary
reset xmlbinary
set bytea_output to default
set time zone 'x'
set time zone interval '1' year
set time zone interval '1 day' hour
set local work_mem = '2MB'
set names 'latin1'
set names default
set backslash_quote = off
select E'it\'s'
select 'it''s', E'a\\b'
set standard_conforming_strings = off
select 'it\'s'
set standard_conforming_strings = on
set backslash_quote = safe_encoding
select E'it\'s'
set client_encoding = 'SJIS'
select 1, E'it\'s'
set client_encoding = 'LATIN1'
select E'it\'s'
reset client_encoding
set backslash_quote = on
select E'it\'s'
reset backslash_quote
