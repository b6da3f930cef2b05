package dev.bowline

import com.sun.net.httpserver.HttpServer
import java.net.InetSocketAddress
import java.nio.file.Files
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.async
import kotlinx.coroutines.cancel
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class MisuseTest {
    @Test
    fun `missing helper is named with the remedy`() = runTest {
        val guardless = Bowline.engine(program = understudy, guard = "/no/such/bowline")
        val error = assertThrowsBowline<BowlineException.Start> { guardless.start(configuration()).close() }
        assertTrue("/no/such/bowline" in error.reason, error.reason)
    }

    @Test
    fun `missing programs of the tests are named with the remedy`() {
        val folder = temporaryDirectory()
        Files.createSymbolicLink(folder.resolve("bowline"), programs.resolve("bowline"))
        val missing = assertThrows(MissingPrograms::class.java) { requirePrograms(folder) }
        val expected = "understudy, chaos, examples/certificates missing in $folder; run cargo build"
        assertTrue(missing.message!!.startsWith(expected), missing.message)
    }

    @Test
    fun `runner of another version is named with the remedy`() = runTest {
        val other = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
        other.createContext("/") { exchange ->
            exchange.sendResponseHeaders(201, 2)
            exchange.responseBody.use { it.write("{}".toByteArray()) }
        }
        other.start()
        try {
            val runner = RunnerConfiguration("http://127.0.0.1:${other.address.port}", token = "t")
            val error = assertThrowsBowline<BowlineException.Start> { engine.start(configuration().copy(runner = runner)).close() }
            assertTrue("use a runner of this version" in error.reason, error.reason)
        } finally {
            other.stop(0)
        }
    }

    @Test
    fun `ended session refuses calls but keeps its transcript`() = runTest {
        session { session ->
            session.send("hello").waitUntilSettled()
            assertEquals(session.terminate(), session.terminate())
            assertThrowsBowline<BowlineException.Ended> { session.send("x") }
            assertThrowsBowline<BowlineException.Ended> { session.interrupt() }
            assertThrowsBowline<BowlineException.Ended> { session.setModel(null) }
            assertThrowsBowline<BowlineException.Ended> { session.allow("x") }
            assertThrowsBowline<BowlineException.Ended> { session.pause() }
            session.snapshot().use { assertTrue("hello" in it.json()) }
        }
    }

    @Test
    fun `cancelled coroutine terminates its session`() = runTest {
        engine.start(configuration()).use { session ->
            val cancelled = launch {
                cancel()
                session.terminate()
            }
            cancelled.join()
            assertTrue(session.waitForEnd().isExpected)
        }
    }

    @Test
    fun `closed object throws IllegalStateException`() = runTest {
        val session = engine.start(configuration())
        session.terminate()
        session.close()
        session.close()
        assertThrows(IllegalStateException::class.java) { session.id() }
    }

    @Test
    fun `unknown request and repeated uuid are refused`() = runTest {
        session { session ->
            session.send("hello").waitUntilSettled()
            assertThrowsBowline<BowlineException.NotFound> { session.allow("no-such-request") }
            assertThrowsBowline<BowlineException.Invalid> { session.send(Prompt(emptyList())) }
            val receipt = session.send("again", uuid = "00000000-0000-4000-8000-000000000001")
            receipt.waitUntilSettled()
            assertThrowsBowline<BowlineException.Invalid> { session.send("again", uuid = "00000000-0000-4000-8000-000000000001") }
        }
    }

    @Test
    fun `many threads use one session`() = runTest {
        session { session ->
            withContext(Dispatchers.IO) {
                val readers = List(8) { launch { session.until { it.results().isNotEmpty() } } }
                val prompts = List(4) { n -> async { session.send("prompt $n").waitUntilSettled() } }
                val callers = List(8) { launch { repeat(200) { session.hasEnded() } } }
                prompts.awaitAll()
                (readers + callers).forEach { it.join() }
            }
        }
    }

    @Test
    fun `largest numbers mean no limit`() = runTest {
        val most = ULong.MAX_VALUE
        val plain = configuration().copy(
            maxLine = most, stderrBytes = most, controlTimeoutMs = most, endGraceMs = most,
            window = TranscriptWindow(most, most), watchdog = WatchdogPolicy.FixedTimeout(most),
        )
        session(plain) { session ->
            val events = session.eventStream(EventLimits(most, most))
            session.send("hello").waitUntilSettled()
            session.until { it.results().isNotEmpty() }
            events.use { assertTrue(it.next(0u, UInt.MAX_VALUE, 0u)!!.events.isNotEmpty()) }
            session.changeStream().use { assertTrue(it.next(0u, UInt.MAX_VALUE, 0u)!!.isReset) }
        }
        val limits = HookLimits(most, most, most, most, most, most)
        val backend = HookBackend("http://127.0.0.1:1", "s", attempts = 1u, backoffMs = most, queue = most)
        engine.startHooks(HookConfiguration(limits = limits, backend = backend)).use { it.stop() }
        val shell = ShellConfiguration(
            temporaryDirectory().toString(), program = ShellProgram.Command("/bin/echo", listOf("hello")),
            maxLine = most, historyLines = most, historyBytes = most, idleAfterMs = most,
        )
        engine.startShell(shell).use { it.events().first { event -> (event as? SessionEvent.Output)?.line == "hello" } }
        val manager = ManagerConfiguration(temporaryDirectory().toString(), maxSessions = most, keepEnded = most)
        engine.openManager(manager).use { it.createShell(shell, "x"); it.endAll() }
    }

    @Test
    fun `number that delivers nothing is refused`() = runTest {
        assertThrowsBowline<BowlineException.Configuration> { engine.start(configuration().copy(maxLine = 0u)) }
        assertThrowsBowline<BowlineException.Configuration> { engine.startShell(ShellConfiguration("/", maxLine = 0u)) }
        session { session ->
            session.snapshot().use { assertThrowsBowline<BowlineException.Invalid> { it.page(maxCount = 0u) } }
            session.changeStream().use { assertThrowsBowline<BowlineException.Invalid> { it.next(0u, 0u, 0u) } }
            session.eventStream().use { assertThrowsBowline<BowlineException.Invalid> { it.next(0u, 0u, 0u) } }
        }
    }

    @Test
    fun `code of the host never runs on a worker of the library`() = runTest {
        session { session ->
            val threads = withContext(Dispatchers.Unconfined) {
                List(20) {
                    session.phase()
                    // A worker would refuse to block.
                    session.changeStream().use { it.nextBlocking(0u, 1u, 0u, 60_000u) }
                    Thread.currentThread().name
                }
            }
            assertTrue(threads.none { it.startsWith("bowline") }, threads.toString())
        }
    }

    @Test
    fun `large and unusual texts are passed unchanged`() = runTest {
        session { session ->
            val huge = "é😀x".repeat(100_000)
            session.send(huge).waitUntilSettled()
            session.send("broken \u0000 nul").waitUntilSettled()
            // An unpaired surrogate cannot be encoded.
            assertThrows(CharacterCodingException::class.java) { runBlocking { session.send("half \ud83d of it") } }
            val transcript = session.until { it.results().size == 2 }
            val prompts = transcript.entries.mapNotNull { (it.value as? EntryKind.User)?.text }
            assertTrue(prompts.any { it == huge })
            assertTrue(prompts.any { it.startsWith("broken ") && it.endsWith(" nul") })
        }
    }
}
