# Builds from source. Linux only: the sandbox is Linux's.
class Sallyport < Formula
  desc "Guarded gate between AI agents and their MCP servers"
  homepage "https://github.com/sallyport/sallyport"
  url "https://github.com/sallyport/sallyport/archive/refs/tags/v0.1.0.tar.gz"
  license "Apache-2.0"
  head "https://github.com/sallyport/sallyport.git", branch: "main"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "node" => :build
  depends_on "pkgconf" => :build
  depends_on "hiredis"
  depends_on "libpg_query"
  depends_on "libpq"
  depends_on "libseccomp"
  depends_on "libuv"
  depends_on "libyaml"
  depends_on :linux
  depends_on "openssl@3"
  depends_on "pcre2"
  depends_on "sqlite"

  def install
    system "npm", "ci", "--ignore-scripts", "--prefix", "web"
    system "npm", "ci", "--ignore-scripts", "--prefix", "packaging/typescript"
    system "meson", "setup", "build", "-Dtests=false", *std_meson_args
    system "meson", "compile", "-C", "build"
    system "meson", "install", "-C", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sallyport version")
    (testpath/"policy.yaml").write("version: \"1\"\ndefault: deny\ntools: {}\n")
    system bin/"sallyport", "validate", "-c", testpath/"policy.yaml"
  end
end
