set time zone interval '-5' hour
show timezone
set time zone interval '3' minute
show timezone
set time zone interval '-08:00' hour to minute
show timezone
set time zone interval '2 hours'
show timezone
set time zone interval '5'
show timezone
set time zone interval '5:30:20' hour
show timezone
set time zone interval '5:30:20' hour to minute
show timezone
set time zone interval '5' hour to minute
show timezone
set time zone interval(2) '90.456'
show timezone
set time zone interval(0) '90.456'
show timezone
set time zone interval 'abc' hour
set time zone interval '5' day
set time zone interval '1 day' hour
set time zone interval '1 mon 2' hour
set time zone interval '200' hour
set time zone interval '' hour
set local time zone interval '-7' hour
show timezone
set timezone to 'interval ''-6'''
show timezone
set timezone to 'interval ''-6'' hour'
select '2020-01-01 00:00:00+00'::timestamptz
set time zone interval '-5' hour
select '2020-01-01 00:00:00+00'::timestamptz
create function zoned() returns text language sql set time zone interval '-4' hour as $$ select current_setting('timezone') $$
select zoned()
select proconfig from pg_proc where proname = 'zoned'
create role zoned_role
alter role zoned_role set time zone interval '-3' hour
select rolconfig from pg_roles where rolname = 'zoned_role'
drop role zoned_role
