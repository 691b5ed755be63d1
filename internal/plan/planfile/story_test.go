package planfile_test

import (
	"testing"

	"weir.dev/weir/internal/proof/story"
)

func TestStories(t *testing.T) { story.Run(t) }
