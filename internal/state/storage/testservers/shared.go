package testservers

// WithPostgres runs the tests of a package with a PostgreSQL that they share, and returns their exit
// code. Where no server starts, without says why.
func WithPostgres(run func() int, server, without *string) int {
	at, stop, err := Postgres()
	if err != nil {
		*without = err.Error()
		return run()
	}
	defer stop()
	*server = at
	return run()
}
