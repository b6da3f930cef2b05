// Tests: DialogueSession, ShellSession, TerminalExecutor, RawStream
package dev.bowline

import java.io.ByteArrayOutputStream
import java.nio.file.Files
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.last
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class RawOutputTest {
    /** Collects to the end and returns the bytes, with a zero for each missing one, and the gaps. */
    private suspend fun Flow<RawPiece>.all(from: ULong = 0u): Pair<ByteArray, List<RawPiece.Gap>> {
        val bytes = ByteArrayOutputStream()
        val gaps = mutableListOf<RawPiece.Gap>()
        for (piece in toList()) {
            val end = from + bytes.size().toULong()
            when (piece) {
                is RawPiece.Bytes -> {
                    assertEquals(end, piece.offset)
                    bytes.write(piece.bytes)
                }
                is RawPiece.Gap -> {
                    assertEquals(end, piece.from)
                    gaps += piece
                    bytes.write(ByteArray((piece.to - piece.from).toInt()))
                }
            }
        }
        return bytes.toByteArray() to gaps
    }

    private suspend fun DialogueSession.say(text: String) =
        assertEquals(ReceiptState.ANSWERED, send(text).use { it.waitUntilSettled() })

    @Test
    fun `late reader sees the beginning and what follows`() = runTest {
        val folder = temporaryDirectory()
        val record = folder.resolve("record.jsonl")
        session(configuration(folder = folder).copy(record = record.toString())) { session ->
            session.say("hello")
            val seen = session.rawEnd()
            val live = async(start = CoroutineStart.UNDISPATCHED) { session.rawOutput(seen).all(seen) }
            session.say("/lines 300")
            session.end()
            val recorded = Files.readAllBytes(record)
            val (all, gaps) = session.rawOutput().all()
            assertEquals(emptyList<RawPiece.Gap>(), gaps)
            assertArrayEquals(recorded, all)
            assertArrayEquals(recorded.drop(seen.toInt()).toByteArray(), live.await().first)
            assertArrayEquals(recorded.drop(5).toByteArray(), session.rawOutput(5u, maxBytes = 7u).all(5u).first)
            assertEquals(0, session.rawOutput(kind = OutputKind.ERRORS).all().first.size)
            assertEquals(0uL, session.rawEnd(OutputKind.ERRORS))
        }
    }

    @Test
    fun `unread bytes are a gap and recording begins at any time`() = runTest {
        val folder = temporaryDirectory()
        session(configuration(folder = folder).copy(keptOutput = 4096u)) { session ->
            session.rawStream().use { stream ->
                session.say("hello")
                session.say("/big 300000")
                val late = folder.resolve("late.bjl").toString()
                val begin = session.record(late)
                assertTrue(begin > 300_000u, "$begin")
                assertThrowsBowline<BowlineException.Invalid> { session.record(folder.resolve("second.bjl").toString()) }
                session.say("hello")
                val first = stream.next(0u, 65_536u, 0u)!!
                assertEquals(RawPiece.Gap(0u, begin), first.pieces.first())
                // Reading does not consume.
                assertEquals(first.pieces.first(), stream.next(0u, 1u, 0u)!!.pieces.first())
                assertThrowsBowline<BowlineException.Invalid> { stream.next(0u, 0u, 0u) }
                val end = session.end()
                assertTrue("bytes 0 to $begin" in end.recordingError!!, end.recordingError)
                engine.openRecording(late).use { recording ->
                    assertTrue("hello" in recording.snapshot().use { it.json() })
                }
                assertThrowsBowline<BowlineException> { session.record(folder.resolve("third.bjl").toString()) }
                stream.stop()
                assertNull(stream.next(0u, 1u, 0u))
            }
        }
    }

    @Test
    fun `diagnostics are one file without secrets that is read as a recording`() = runTest {
        val folder = temporaryDirectory()
        val secret = "sk-ant-api03-Planted0123456789abcdef"
        session { session ->
            session.say("hello $secret")
            val live = session.until { it.results().size == 1 && it.phase == Phase.IDLE }
            val plain = folder.resolve("plain.tar.gz").toString()
            session.diagnostics(plain)
            assertThrowsBowline<BowlineException.Io> { session.diagnostics(plain) }
            engine.openRecording(plain).use { recording ->
                val read = recording.snapshot().use { it.json() }
                assertTrue("hello" in read && secret !in read, read)
            }
            session.end()
            val empty = folder.resolve("empty.tar.gz").toString()
            session.diagnostics(empty, Redaction.CONTENT)
            val read = engine.openRecording(empty).use { it.transcripts().last() }
            assertEquals(live.entries.size, read.entries.size)
            assertTrue("hello" !in read.text() && read.text().length > 5, read.text())
        }
    }

    @Test
    fun `cancelled reader continues from its offset`() = runTest {
        session { session ->
            session.say("hello")
            val end = session.rawEnd()
            session.rawStream().use { stream ->
                val waiting = launch(start = CoroutineStart.UNDISPATCHED) { stream.next(end, 1u, 0u) }
                waiting.cancelAndJoin()
                session.say("hello")
                val next = stream.next(end, 1u, 0u)!!.pieces.first() as RawPiece.Bytes
                assertEquals(end, next.offset)
            }
            // A stream that is released during a read ends it.
            val stream = session.rawStream()
            val read = async(start = CoroutineStart.UNDISPATCHED) { stream.next(session.rawEnd(), 1u, 60_000u) }
            stream.stop()
            assertNull(read.await())
            stream.close()
        }
    }

    @Test
    fun `terminal view of a shell and of an executor`() = runTest {
        val cat = ShellProgram.Command("/bin/sh", listOf("-c", "stty size; cat"))
        val shell = ShellConfiguration(cwd = temporaryDirectory().toString(), program = cat, size = TerminalSize(11u, 22u))
        engine.startShell(shell).use { shell ->
            shell.rawStream().use { stream ->
                val text = StringBuilder()
                var offset = 0uL
                while ("typed" !in text) {
                    val batch = stream.next(offset, 65_536u, 0u)!!
                    batch.pieces.forEach { text.append(String((it as RawPiece.Bytes).bytes)) }
                    if (offset == 0uL) shell.typeText("typed\n")
                    offset = batch.offset
                }
                assertTrue("11 22" in text, text.toString())
            }
            assertTrue(shell.rawOutput().first() is RawPiece.Bytes)
            shell.kill()
        }
        engine.startExecutor(ExecutorConfiguration("view", hookGraceMs = 5_000u)).use { executor ->
            val view = async(start = CoroutineStart.UNDISPATCHED) { executor.rawOutput().all() }
            executor.resize(TerminalSize(33u, 44u))
            assertThrowsBowline<BowlineException.NotFound> { executor.typeBytes("x".toByteArray()) }
            for (interaction in listOf("i1", "i2")) {
                val command = ExecutorCommand(
                    interaction, "hello", isPrint = true, cwd = temporaryDirectory().toString(),
                    options = AgentOptions(trailingArgs = listOf("--pace", "0", "--input-format", "text")),
                )
                assertEquals(0, executor.execute(command).exitCode)
            }
            val first = executor.rawStream().use { it.next(0u, 1u, 0u)!!.pieces.first() as RawPiece.Bytes }
            executor.cleanup()
            val (bytes, gaps) = view.await()
            assertEquals(emptyList<RawPiece.Gap>(), gaps)
            assertTrue(String(bytes).startsWith(String(first.bytes)) && bytes.size > first.bytes.size)
            assertThrowsBowline<BowlineException.Ended> { executor.rawStream() }
            assertThrowsBowline<BowlineException.Ended> { executor.resize(TerminalSize(1u, 1u)) }
        }
    }
}
