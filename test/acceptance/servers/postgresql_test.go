package servers

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/acceptance/engine"
)

func TestPostgreSQL(t *testing.T) {
	e := engine.Start(t, "postgresql", provider(t, "cyrilgdn/postgresql", "1.26.0"))
	server, stop, err := testservers.Postgres()
	if err != nil {
		t.Skipf("PostgreSQL doesn't run here (Debian: postgresql): %v", err)
	}
	t.Cleanup(stop)
	host, _, _ := strings.Cut(strings.TrimPrefix(server, "host="), " ")
	e.Setenv("PGHOST=127.0.0.1", "PGPORT="+forward(t, filepath.Join(host, ".s.PGSQL.5432")), "PGUSER=weir", "PGSSLMODE=disable")

	e.Write("postgresql")
	e.Run([]string{"init", "-input=false", "-no-color"})
	e.Apply("create")
	e.Settled("created")

	e.Write("postgresql-change")
	e.Apply("change")
	e.Settled("changed")

	sql(t, server,
		"CREATE ROLE legacy", "ALTER ROLE ann CONNECTION LIMIT 9", "DROP ROLE cas")
	sql(t, strings.Replace(server, "dbname=postgres", "dbname=shop", 1),
		"CREATE SCHEMA legacy AUTHORIZATION weir", "GRANT CREATE ON SCHEMA sales TO readers", "DROP SCHEMA plain CASCADE")
	e.Write("postgresql-drift")
	e.Run([]string{"import", "-input=false", "-no-color", "postgresql_schema.legacy", "shop.legacy"})
	e.Apply("drift")
	e.Settled("restored")

	e.Apply("destroy", "-destroy")
	sql(t, server, "DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM pg_roles WHERE rolname IN ('owner', 'readers', 'ann', 'legacy')); END $$")
}

// sql does something behind the engine's back.
func sql(t *testing.T, server string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, s := range statements {
		if _, err := conn.Exec(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// forward takes connections to a port for a socket, which the provider can't use.
func forward(t *testing.T, socket string) (port string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // closed
			}
			to, err := net.Dial("unix", socket)
			if err != nil {
				from.Close()
				continue
			}
			carry := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				to.Close()
			}
			go carry(to, from)
			go carry(from, to)
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}
