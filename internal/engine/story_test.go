package engine_test

import (
	"testing"

	"weir.dev/weir/internal/testing/scripttest"
)

func TestStories(t *testing.T) { scripttest.Run(t) }
