package database

import (
	"os"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
)

// postgres is the connection string of the server that the tests share, or
// empty; without says why then.
var postgres, without string

func TestMain(m *testing.M) { os.Exit(testservers.WithPostgres(m.Run, &postgres, &without)) }
