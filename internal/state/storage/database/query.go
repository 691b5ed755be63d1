package database

import (
	"context"
	"database/sql"
	"maps"

	"github.com/jackc/pgx/v5/stdlib"

	"weir.dev/weir/internal/net/stalltimeout"
)

// Query implements storage.Queryable. The statement has a connection of its own that can't
// write, and neither driver runs more than one.
func (b *Backend) Query(ctx context.Context, text string) (columns []string, rows [][]any, err error) {
	if b.address != "" {
		var end func()
		ctx, end = b.pulse.Watch(ctx, b.address, b.patience)
		defer end()
	}
	columns, rows, err = b.query(ctx, text)
	return columns, rows, stalltimeout.Because(ctx, b.explained(err))
}

func (s *server) query(ctx context.Context, text string) (columns []string, all [][]any, err error) {
	if _, err := s.open(ctx); err != nil { // it makes the tables
		return nil, nil, err
	}
	db, err := s.readOnly()
	if err != nil {
		return nil, nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	if columns, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, nil, err
		}
		for i, v := range row {
			if text, ok := v.([]byte); ok {
				row[i] = string(text)
			}
		}
		all = append(all, row)
	}
	return columns, all, rows.Err()
}

func (s *server) readOnly() (*sql.DB, error) {
	if s.file != "" {
		return s.openFile("mode=ro")
	}
	config := s.config.Copy()
	config.RuntimeParams = maps.Clone(config.RuntimeParams)
	config.RuntimeParams["default_transaction_read_only"] = "on"
	return stdlib.OpenDB(*config), nil
}
