# nixpkgs.overlays = [ (import ./overlay.nix) ]; without it the distribution's is back. The series is for @VERSION@.
final: prev:
if prev.spice.version != "@VERSION@"
then throw "spice-batch.patch is for spice @VERSION@, nixpkgs has ${prev.spice.version}: for that, run ./run deb recipes --release ${prev.spice.version}"
else {
  spice = prev.spice.overrideAttrs (old: {
    patches = (old.patches or [ ]) ++ [ ./spice-batch.patch ];
  });
}
