package pg

import (
	"os"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
)

// server is the connection string of the server that the tests share, or
// empty; without says why then.
var server, without string

func TestMain(m *testing.M) { os.Exit(testservers.WithPostgres(m.Run, &server, &without)) }
