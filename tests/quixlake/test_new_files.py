"""The creation of segments on local disks: permissions, checksums, and failures on the way."""

from __future__ import annotations

import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from tests.quixlake.lake_files import Message, assert_lake_holds
from tests.spark.java_classes import JavaClasses
from xskip.errors import StorageError
from xskip.quixlake import QuixLake
from xskip.quixlake.sink import Sink, SinkOptions
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.quixlake.segments import SegmentCalls

SCHEMA = "timestamp bigint, key binary, value binary, partition int, offset bigint"
SUBCLASS = "public class OwnLocal extends org.apache.hadoop.fs.LocalFileSystem {}"
HIVE = "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem"
HADOOP = "org.apache.hadoop.fs.LocalFileSystem"


class Files:
    """The creation of files by the hook and by Hadoop.

    Parameters
    ----------
    spark : SparkSession
    file_system : str, optional
        The class of the file system; None takes the one that the session has for local files.
    umask : str, optional
        Hadoop's setting of the umask; None keeps the session's.
    """

    def __init__(self, spark: SparkSession, file_system: str | None = None, umask: str | None = None) -> None:
        self._java = JavaClasses(spark)
        self._jvm = cast(Any, spark._jvm)
        conf = self._jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
        if umask is not None:
            conf.set("fs.permissions.umask-mode", umask)
        uri = self._jvm.java.net.URI("file:///")
        if file_system is None:
            self.file_system = self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(uri, conf)
            return
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        if file_system == "OwnLocal":
            compiler = self._jvm.org.codehaus.janino.SimpleCompiler()
            compiler.setParentClassLoader(loader)
            compiler.cook(SUBCLASS)
            loader = compiler.getClassLoader()
        self.file_system = loader.loadClass(file_system).getConstructors()[0].newInstance(self._java.array(()))
        self.file_system.initialize(uri, conf)

    def _path(self, path: Path) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"file:{path}")

    def create(self, path: Path, content: bytes = b"") -> None:
        """Create a file as the sink does."""
        out = self._java.call("files.NewFiles", "create", self.file_system, self._path(path))
        out.write(bytearray(content))
        out.close()

    def create_by_hadoop(self, path: Path) -> None:
        self.file_system.create(self._path(path), False).close()


def modes(root: Path) -> dict[str, str]:
    """Return the permissions of all files and folders, without checksums."""
    found = sorted(path for path in root.rglob("*") if path.suffix != ".crc")
    return {str(path.relative_to(root)): stat.filemode(path.stat().st_mode) for path in found}


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize("umask", [None, "022", "077", "002", "000", "0137", "u=rwx,g=r,o="])
@pytest.mark.parametrize("file_system", [None, HADOOP, HIVE])
def test_permissions_are_those_of_hadoop(
    spark: SparkSession, tmp_path: Path, file_system: str | None, umask: str | None
) -> None:
    """A file and its folders have the permissions that Hadoop gives them, and no file of checksums."""
    files = Files(spark, file_system, umask)
    (tmp_path / "own").mkdir()
    files.create(tmp_path / "own/Key=a b/Start=1/x", b"content")
    files.create_by_hadoop(tmp_path / "hadoop/Key=a b/Start=1/x")
    assert modes(tmp_path / "own") == modes(tmp_path / "hadoop")
    assert names(tmp_path / "own") == ["x"]
    assert names(tmp_path / "hadoop") == [".x.crc", "x"]
    assert (tmp_path / "own/Key=a b/Start=1/x").read_bytes() == b"content"


def test_permissions_follow_the_umask(spark: SparkSession, tmp_path: Path) -> None:
    """The umask is Hadoop's and not that of the process."""
    for umask, mode in (("077", "-rw-------"), ("000", "-rw-rw-rw-"), ("0137", "-rw-r-----")):
        Files(spark, None, umask).create(tmp_path / umask)
        assert stat.filemode((tmp_path / umask).stat().st_mode) == mode


@pytest.mark.parametrize("file_system", ["OwnLocal", HADOOP, "org.apache.hadoop.fs.RawLocalFileSystem"])
def test_an_existing_file_stays(spark: SparkSession, tmp_path: Path, file_system: str) -> None:
    files = Files(spark, file_system)
    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(Exception, match=r"FileAlreadyExistsException"):
        files.create(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"


def test_a_failure_to_set_permissions_leaves_no_file(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, None, "no umask")
    with pytest.raises(Exception, match="no umask"):
        files.create(tmp_path / "x", b"content")
    assert names(tmp_path) == []
    files = Files(spark)
    files.create(tmp_path / "x", b"content")
    assert names(tmp_path) == ["x"]


def test_a_folder_that_is_a_file(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    with pytest.raises(Exception, match=r"(?i)parent|not a directory|mkdirs"):
        Files(spark).create(tmp_path / "x/y", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"


def test_other_file_systems_create_files_as_they_do(spark: SparkSession, tmp_path: Path) -> None:
    """A subclass of Hadoop's local file system writes checksums, and the raw one does not."""
    Files(spark, "OwnLocal").create(tmp_path / "own/x", b"content")
    assert names(tmp_path / "own") == [".x.crc", "x"]
    Files(spark, "org.apache.hadoop.fs.RawLocalFileSystem", "027").create(tmp_path / "raw/x", b"content")
    assert modes(tmp_path / "raw") == {"x": "-rw-r-----"}
    assert names(tmp_path / "raw") == ["x"]


def messages(count: int, value: bytes = b"v") -> list[Message]:
    return [(i, b"k", (), value, 0, i) for i in range(count)]


def write(spark: SparkSession, base: Path, rows: list[Message], batch: str = "b", **options: Any) -> None:
    df = spark.createDataFrame([(m[0], bytearray(m[1]), bytearray(m[3]), m[4], m[5]) for m in rows], SCHEMA)
    Sink(spark, str(base), "t", SinkOptions(**options)).write(df, batch)


def test_the_sink_writes_no_checksums(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-1] Nor does it for descriptors and manifests."""
    write(spark, tmp_path, messages(3))
    assert_lake_holds(tmp_path, messages(3))
    assert list(tmp_path.rglob("*.crc")) == []


FOLDER = "Raw/Topic=t/Key=k/Start=1970-01-01"
NAME = "ts_0_2_part_0_off_0_2.avro.snappy"


def test_checksums_of_a_former_file(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-8] A segment can be read that has the name of a removed file whose checksums are still there."""
    stale = tmp_path / FOLDER / f".{NAME}.crc"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"crc\0\0\0\2\0" + bytes(8))
    write(spark, tmp_path, messages(3))
    assert not stale.exists()
    assert sorted(row.offset for row in QuixLake(spark, str(tmp_path)).read("t").collect()) == [0, 1, 2]


def test_checksums_go_before_a_segment_has_its_name(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-3] No reader sees a segment beside the checksums of another file, whenever the writer ends."""
    stale = tmp_path / FOLDER / f".{NAME}.crc"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"crc\0\0\0\2\0" + bytes(8))
    calls = SegmentCalls(hook_of(spark))
    with pytest.raises(StorageError):  # the segment is missing
        calls.rename(f"file:{tmp_path}/Raw/Topic=t", [("Key=k/Start=1970-01-01", "._xskip-0", NAME)], ".token")
    assert not stale.exists()


@contextmanager
def most_bytes(spark: SparkSession, limit: int) -> Iterator[None]:
    """Let no file of the JVM grow beyond a number of bytes, as on a full disk."""
    pid = cast(Any, spark._jvm).java.lang.ProcessHandle.current().pid()
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit, which Linux has")
@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_a_disk_without_space(spark: SparkSession, tmp_path: Path, limit: int) -> None:
    """[QLK-SK-3] The batch fails, no file of it stays, and the next attempt writes it."""
    rows = messages(300, bytes(10_000))  # the shuffle compresses them, and the segment does not
    with most_bytes(spark, limit), pytest.raises(StorageError, match=r"(?s)no message of this batch is visible"):
        write(spark, tmp_path, rows, codec="null")
    assert names(tmp_path) == []
    write(spark, tmp_path, rows, codec="null")
    assert_lake_holds(tmp_path, rows)
