import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.opensearch.Version;
import org.opensearch.analysis.common.CommonAnalysisModulePlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessModulePlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.PluginInfo;
import org.opensearch.transport.Netty4ModulePlugin;

/**
 * One OpenSearch node on 127.0.0.1, for tests.
 *
 * <p>Every argument is a setting of OpenSearch, written name=value; path.home must be among them. SIGTERM closes
 * the node.
 */
public final class SearchNode extends Node {
    /** The server's parts that its distribution has as modules: HTTP, analysis, and scripts. */
    private static final List<Class<? extends Plugin>> MODULES =
            List.of(Netty4ModulePlugin.class, CommonAnalysisModulePlugin.class, PainlessModulePlugin.class);

    private SearchNode(Environment environment) {
        super(environment, MODULES.stream().map(SearchNode::describe).toList(), true);
    }

    private static PluginInfo describe(Class<? extends Plugin> module) {
        String name = module.getName();
        return new PluginInfo(name, "from the class path", "1", Version.CURRENT, "21", name, null, List.of(), false);
    }

    private static Settings read(String[] words) {
        Settings.Builder settings = Settings.builder()
                .put("cluster.name", "toolog-tests")
                .put("node.name", "one")
                .put("network.host", "127.0.0.1")
                .put("discovery.type", "single-node")
                // A test machine's disk may be nearly full without this being any of the tests' business.
                .put("cluster.routing.allocation.disk.threshold_enabled", false);
        for (String word : words) {
            int split = word.indexOf('=');
            settings.put(word.substring(0, split), word.substring(split + 1));
        }
        return settings.build();
    }

    public static void main(String[] words) throws Exception {
        Settings settings = read(words);
        Path home = Path.of(settings.get("path.home"));
        SearchNode node = new SearchNode(new Environment(settings, Files.createDirectories(home.resolve("config"))));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }));
        node.start();
        Thread.currentThread().join();
    }
}
