# Prints one line per check, `name: result`, the same wherever values are the same.

$stdout.sync = true

def told(error)
  cause = error
  cause = cause.cause while cause && !cause.respond_to?(:result)
  result = cause&.result
  return "#{error.class} no SQLSTATE" unless result.respond_to?(:error_field)
  constraint = result.error_field(PG::PG_DIAG_CONSTRAINT_NAME)
  ["#{error.class} #{result.error_field(PG::PG_DIAG_SQLSTATE)}", constraint].compact.join(" ")
end

def check(name)
  puts "#{name}: #{yield.inspect}"
  true
rescue StandardError => e
  puts "#{name}: error #{told(e)}"
  warn "#{name}: #{e.class}: #{e.message}", *e.backtrace.first(3)
  false
end
