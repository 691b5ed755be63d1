#!/bin/sh
# Installs weir from a release. It verifies the signature of the checksums and the checksum of the
# archive before it writes anything.
#   WEIR_RELEASES   address of the release server: the folder with index.json
#   WEIR_VERSION    version to install
#   WEIR_KEY        file with the public key of the releases, in PEM
#   WEIR_BIN        folder of the program (default: ~/.local/bin)
set -eu
fail() {
  echo "install: $*" >&2
  exit 1
}
[ -n "${WEIR_RELEASES:-}" ] || fail "set WEIR_RELEASES to the address of the release server"
[ -n "${WEIR_VERSION:-}" ] || fail "set WEIR_VERSION to the version"
[ -f "${WEIR_KEY:-}" ] || fail "set WEIR_KEY to a file with the public key of the releases"
bin=${WEIR_BIN:-$HOME/.local/bin}
for tool in curl openssl tar; do
  command -v "$tool" >/dev/null || fail "$tool is needed"
done

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "no archive for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "no archive for $(uname -m)" ;;
esac
archive=weir_${WEIR_VERSION}_${os}_$arch.tar.gz
sums=weir_${WEIR_VERSION}_checksums.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
from=${WEIR_RELEASES%/}/v$WEIR_VERSION
get() { curl -fsSL --proto '=https,http' -o "$work/$1" "$from/$1" || fail "$1 can't be downloaded from $from"; }
get "$sums"
get "$sums.sig"
openssl base64 -d -in "$work/$sums.sig" -out "$work/signature" 2>/dev/null || fail "$sums.sig isn't in base64"
openssl dgst -sha256 -verify "$WEIR_KEY" -signature "$work/signature" "$work/$sums" >/dev/null 2>&1 ||
  fail "the signature of $sums isn't that of the key $WEIR_KEY"
want=$(awk -v name="$archive" '$2 == name || $2 == "*" name {print $1}' "$work/$sums")
[ -n "$want" ] || fail "$sums has no checksum of $archive"
get "$archive"
have=$(openssl dgst -sha256 -r "$work/$archive" | cut -d' ' -f1)
[ "$have" = "$want" ] || fail "the checksum of $archive is $have, and $sums has $want"

tar -xzf "$work/$archive" -C "$work" weir || fail "$archive has no program"
mkdir -p "$bin"
mv "$work/weir" "$bin/.weir.new"
chmod 755 "$bin/.weir.new"
mv "$bin/.weir.new" "$bin/weir"
echo "weir $WEIR_VERSION is $bin/weir"
