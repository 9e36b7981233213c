# nix-build packaging/nix: builds from this tree. The console and TypeScript need npm packages; without them the program has a plain page.
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "sallyport";
  version = builtins.head (builtins.match ".*version: '([0-9.]+)'.*" (builtins.readFile ../../meson.build));
  src = ../..;

  nativeBuildInputs = with pkgs; [ meson ninja pkg-config python3 ];
  buildInputs = with pkgs; [ hiredis libpg_query libpq libseccomp libuv libyaml openssl pcre2 sqlite ];
  mesonFlags = [ "-Dtests=false" ];

  meta = {
    description = "Guarded gate between AI agents and their MCP servers";
    license = pkgs.lib.licenses.asl20;
    platforms = pkgs.lib.platforms.linux;
    mainProgram = "sallyport";
  };
}
