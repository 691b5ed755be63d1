package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"weir.dev/weir/internal/core/addr"
)

// AnswersTo has the answers to creations in a context kept in files of a directory,
// by providers that can; AnswerFile is the one for an object. The directory is
// absolute and for one apply.
func AnswersTo(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, answers{}, dir)
}

type answers struct{}

// AnswersIn returns the directory for the answers to creations, if they are kept.
func AnswersIn(ctx context.Context) (dir string, ok bool) {
	dir, ok = ctx.Value(answers{}).(string)
	return dir, ok
}

// AnswerFile is the file for the answer to the creation of an object.
func AnswerFile(dir string, i addr.Instance) string {
	sum := sha256.Sum256([]byte(i.String()))
	return filepath.Join(dir, hex.EncodeToString(sum[:])[:32])
}
