package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Prints one line per check, `name: result`, the same wherever values are the same.

func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", v)
	case []byte:
		return fmt.Sprintf("%x", v)
	case [16]byte:
		return fmt.Sprintf("%x", v[:])
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any:
		parts := make([]string, len(v))
		for i, each := range v {
			parts[i] = plain(each)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case [][]any:
		parts := make([]string, len(v))
		for i, each := range v {
			parts[i] = plain(each)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for key, each := range v {
			parts = append(parts, key+": "+plain(each))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprintf("%+v", value)
}

func show(name string, value any) {
	fmt.Printf("%s: %s\n", name, plain(value))
}

func told(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		text := server.Code
		for _, part := range []string{server.TableName, server.ColumnName, server.ConstraintName} {
			if part != "" {
				text += " " + part
			}
		}
		return text
	}
	return "no SQLSTATE"
}

// Shows what a function gives, or what went wrong.
func check(name string, function func() (any, error)) {
	value, err := function()
	if err != nil {
		fmt.Printf("%s: error %s\n", name, told(err))
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return
	}
	show(name, value)
}
