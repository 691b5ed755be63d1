package lockedstate

import "weir.dev/weir/internal/core/diag"

// Lineage is that of the state, or the one that it will have.
func (s *Session) Lineage() string {
	if s.base != nil && !s.unwritten() {
		return s.base.Lineage
	}
	return s.newLineage()
}

// transferring reports a move between states that hasn't ended. A run that changes the state, or
// plans to, stops there: its configuration may lack an object that both states have, so that it
// would destroy the object.
func (s *Session) transferring() diag.List {
	if s.Transfers || s.known == nil || s.known.Transfer == nil {
		return nil
	}
	severity := diag.Warning
	if s.claimed {
		severity = diag.Error
	}
	return diag.List{Unfinished.New(severity, "A run that moved %s ended before it was done, so they may be in both states. To finish the move, run this command in one of the two directories:\n    %s", s.known.Transfer, command(s.Program, "recover", ""))}
}
